import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageFolders, parseModule, repository } from './sources.ts';

const MOST_NAMES = 40;

function entryNames(folder: string): readonly string[] {
  const file = `packages/${folder}/src/index.ts`;
  return parseModule(folder, file, readFileSync(join(repository, file), 'utf8')).exports;
}

describe('the surface of the packages', () => {
  it.each(packageFolders())('packages/%s exports at most 40 names, each by name', (folder) => {
    const names = entryNames(folder);
    expect(names.length).toBeGreaterThan(0);
    expect(names.length).toBeLessThanOrEqual(MOST_NAMES);
    expect(names).not.toContain('*');
    expect(names).not.toContain('default');
  });

  it('changes only on purpose: the names are recorded', async () => {
    const recorded = packageFolders().map((folder) => `# ${folder}\n${entryNames(folder).join('\n')}\n`);
    await expect(recorded.join('\n')).toMatchFileSnapshot('surface.txt');
  });

  it('is seen in every form', () => {
    const text = `
      export { a, b as c } from './x.ts'; export type { D } from './y.ts'; export const e = 1, f = 2;
      export function g() {} export interface H {} export * from './z.ts'; export * as i from './z.ts';
      export default 1;`;
    expect(parseModule('x', 'x.ts', text).exports).toEqual(
      ['a', 'c', 'D', 'e', 'f', 'g', 'H', '*', 'i', 'default'].toSorted(),
    );
  });
});
