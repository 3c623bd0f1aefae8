import { describe, expect, it } from 'vitest';
import type { BuildContext } from '../../builder.ts';
import { isImageError } from '../../error.ts';
import { Npm } from '../../javascript/npm.ts';
import { MAX_SIZE } from '../limits.ts';
import { checkRecipe, lockTool, recipeOf } from './lock-tools.ts';

const SHA256 = 'ab'.repeat(32);

/** Locks the tool without any registry. */
const lockWithoutRegistry = (id: string, checksums: Readonly<Record<string, string>> = {}) =>
  lockTool(id, { npm: new Npm(undefined, MAX_SIZE, undefined), packages: [], checksums }, {} as BuildContext);

function refusalOf(id: string, checksums: Readonly<Record<string, string>> = {}): string {
  try {
    checkRecipe(recipeOf(id), checksums);
    return '';
  } catch (error) {
    return isImageError(error) ? `${error.code}: ${error.message}` : String(error);
  }
}

describe('a Go tool', () => {
  it('is locked with its modules and the toolchain by their checksums', async () => {
    const { tool, entries } = await lockWithoutRegistry('pulumi@3.255.0-r1');
    expect(entries.map(({ name, version }) => `${name} ${version}`)).toEqual([
      'github.com/pulumi/pulumi/pkg/v3 v3.255.0',
      'github.com/pulumi/pulumi/sdk/v3 v3.255.0',
      expect.stringMatching(/^golang\.org\/toolchain v0\.0\.1-go1\.\d+\.\d+\.linux-(?:amd|arm)64$/),
    ]);
    for (const { digest } of entries) expect(digest).toMatch(/^sha256:[0-9a-f]{64}$/);
    expect(tool.go?.modules.map(({ folder }) => folder)).toEqual(['pkg', 'sdk']);
  });

  it.skipIf(process.arch !== 'x64')(
    "is the publisher's program if the operator provides its checksum",
    async () => {
      const id = 'age@1.3.1-r1';
      expect(await lockWithoutRegistry(id, { [id]: SHA256 })).toEqual({
        tool: { id, sha256: SHA256 },
        entries: [{ name: 'age', version: '1.3.1', digest: `sha256:${SHA256}` }],
      });
      expect(refusalOf(id, { [id]: 'not hexadecimal' })).toMatch(/^unsupported_package: .*no checksum/);
    },
  );

  it.skipIf(process.arch !== 'x64')(
    'refuses a checksum if the publisher has no file that can be unpacked',
    () => {
      const id = 'restic@0.19.1-r1';
      expect(refusalOf(id)).toBe('');
      expect(refusalOf(id, { [id]: SHA256 })).toMatch(/^unsupported_package: .*remove the tool's checksum/);
    },
  );

  it('needs no checksum from the operator, unlike a tool that is downloaded', () => {
    expect(refusalOf('age@1.3.1-r1')).toBe('');
    expect(refusalOf('terraform@1.15.8-r1')).toMatch(/^unsupported_package: .*no checksum/);
  });
});
