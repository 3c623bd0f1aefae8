import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import type { TestProject } from 'vitest/node';
import { SERVER_REQUEST_SUFFIX } from './provide-server.ts';
import { setup } from './setup.ts';

describe('if no server responds', () => {
  it.each([
    ['', 'are skipped', false, 'temporal'],
    ['1', 'fail', true, 'heddle'],
  ])(
    'and HEDDLE_REQUIRE_TEMPORAL is "%s", the tests %s, and the reason is printed',
    async (value, outcome, isRequired, name) => {
      vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
      onTestFinished(() => void vi.useRealTimers());
      // Nothing listens on port 9.
      vi.stubEnv('TEMPORAL_ADDRESS', '127.0.0.1:9');
      vi.stubEnv('HEDDLE_REQUIRE_TEMPORAL', value);
      vi.stubEnv('TEMPORAL_NAMESPACE', 'loom');
      const writeSpy = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
      const provide = vi.fn<(key: string, file: string) => void>();
      const stop = setup({ name, provide } as unknown as TestProject);
      const file = provide.mock.calls[0]?.[1] ?? '';
      // In this project, the server does not have to be built, and it starts only when a test requests it.
      if (name === 'heddle') {
        vi.advanceTimersByTime(60_000);
        expect(writeSpy).not.toHaveBeenCalled();
        writeFileSync(file + SERVER_REQUEST_SUFFIX, '');
        vi.advanceTimersByTime(1000);
      }
      await expect.poll(() => existsSync(file)).toBe(true);
      const server: unknown = JSON.parse(readFileSync(file, 'utf8'));
      await stop();
      const reason = 'TEMPORAL_ADDRESS=127.0.0.1:9, namespace loom: nothing listens there.';
      expect(server).toEqual({ kind: 'none', reason, isRequired });
      expect(writeSpy.mock.calls).toEqual([[`Tests of the Temporal runtime ${outcome}: ${reason}\n`]]);
    },
  );
});
