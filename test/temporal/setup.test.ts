import { describe, expect, it, vi } from 'vitest';
import type { TestProject } from 'vitest/node';
import { setup } from './setup.ts';

describe('where no server can be had', () => {
  it.each([
    ['', 'are skipped', false],
    ['1', 'fail', true],
  ])(
    'and HEDDLE_REQUIRE_TEMPORAL is "%s", tests %s, and the reason is printed',
    async (value, word, isRequired) => {
      // Nobody listens at port 9.
      vi.stubEnv('TEMPORAL_ADDRESS', '127.0.0.1:9');
      vi.stubEnv('HEDDLE_REQUIRE_TEMPORAL', value);
      vi.stubEnv('TEMPORAL_NAMESPACE', 'loom');
      const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
      const provide = vi.fn<(key: string, value: unknown) => void>();
      const stop = await setup({ provide } as unknown as TestProject);
      await stop();
      const reason = 'TEMPORAL_ADDRESS=127.0.0.1:9, namespace loom: nothing listens there.';
      expect(provide.mock.calls).toEqual([['temporal', { kind: 'none', reason, isRequired }]]);
      expect(write.mock.calls).toEqual([[`Tests of the Temporal runtime ${word}: ${reason}\n`]]);
    },
  );
});
