import { posix } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Manifest, packageFolders, parseModule, readJson, readText } from './sources.ts';

const MAX_NAMES = 40;

interface EntryPoint {
  readonly folder: string;
  readonly name: string;
  /** The exported names. */
  readonly names: readonly string[];
}

/**
 * Every entry point of every package: the target of the export condition `@heddle/source`, or src/index.ts if the
 * package is bundled.
 */
const entryPoints: readonly EntryPoint[] = packageFolders().flatMap((folder) => {
  const { name, exports = {} } = readJson<Manifest>(`packages/${folder}/package.json`);
  return Object.entries(exports).flatMap(([path, target]) => {
    if (path === './package.json') return [];
    const source = (target as Readonly<Record<string, string>>)['@heddle/source'] ?? './src/index.ts';
    const file = posix.join('packages', folder, source);
    const module = parseModule(folder, file, readText(file));
    return [{ folder, name: posix.join(name, path), names: module.exports }];
  });
});

describe('the API surface of the packages', () => {
  it('has an entry point in each package', () => {
    const packages = new Set(entryPoints.map(({ folder }) => folder));
    expect([...packages].toSorted()).toEqual(packageFolders().toSorted());
  });

  it.each(entryPoints)(
    '$name exports at most 40 names, without a default export or `export *`',
    ({ names }) => {
      expect(names.length).toBeGreaterThan(0);
      expect(names.length).toBeLessThanOrEqual(MAX_NAMES);
      expect(names).not.toContain('*');
      expect(names).not.toContain('default');
    },
  );

  it('has exactly the recorded names', async () => {
    const sections = entryPoints.map(({ name, names }) => `# ${name}\n${names.join('\n')}\n`);
    await expect(sections.join('\n')).toMatchFileSnapshot('surface.txt');
  });

  it('includes every area of `serviceAreas`', () => {
    const importsOf = (file: string): readonly string[] =>
      parseModule('service', file, readText(`packages/service/src/${file}`)).imports;
    const servedAreas = importsOf('compose.ts').filter((specifier) => specifier.endsWith('/area.ts'));
    const exportedAreas = new Set(['areas.ts', 'index.ts'].flatMap(importsOf));
    expect(servedAreas.length).toBeGreaterThan(10);
    expect(servedAreas.filter((specifier) => !exportedAreas.has(specifier))).toEqual([]);
  });

  it('includes the names of every form of export', () => {
    const text = `
      export { a, b as c } from './x.ts'; export type { D } from './y.ts'; export const e = 1, f = 2;
      export function g() {} export interface H {} export * from './z.ts'; export * as i from './z.ts';
      export default 1;`;
    expect(parseModule('x', 'x.ts', text).exports).toEqual(
      ['a', 'c', 'D', 'e', 'f', 'g', 'H', '*', 'i', 'default'].toSorted(),
    );
  });
});
