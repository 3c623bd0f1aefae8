import { describe, expect, it } from 'vitest';
import { importedFile, type Module, modulesIn, parseModule } from './sources.ts';

/** From this number of lines on, a file with a single importer may stay separate. */
const MIN_LINES = 40;

const countLines = ({ text }: Module): number => text.trimEnd().split('\n').length;

/**
 * Returns the short files that a single file imports, so that they belong in that file. A file stays separate if its
 * importer re-exports it, loads it at its first use, or imports it only for its effects.
 */
function mergeableFiles(modules: readonly Module[]): string[] {
  const importers = new Map<string, Set<Module>>();
  for (const module of modules)
    for (const specifier of module.imports) {
      const target = importedFile(module.file, specifier);
      importers.set(target, (importers.get(target) ?? new Set()).add(module));
    }
  return modules.flatMap((module) => {
    const [importer, ...otherImporters] = importers.get(module.file) ?? [];
    if (countLines(module) >= MIN_LINES || !importer || otherImporters.length > 0) return [];
    const isIndirect = (specifier: string) => importedFile(importer.file, specifier) === module.file;
    if (importer.indirectImports.some(isIndirect)) return [];
    return [`${module.file}: move its content to ${importer.file}`];
  });
}

describe('a short file that a single file imports', () => {
  it.each([
    // A test of a function does not count as a second importer.
    ['packages', ['packages/*/{src,web}/**/!(*.test).{ts,tsx}']],
    ['tests', ['test/**/*.ts', 'packages/*/src/**/*.test.ts']],
  ])('is merged into that file in %s', (_name, patterns) => {
    const modules = patterns.flatMap(modulesIn);
    expect(modules.length).toBeGreaterThan(500);
    expect(mergeableFiles(modules)).toEqual([]);
  });

  const mergeableFilesOf = (texts: Readonly<Record<string, string>>): string[] =>
    mergeableFiles(
      Object.entries(texts).map(([file, text]) => parseModule('x', `packages/x/src/${file}`, text)),
    );

  it.each([
    ['is reported', ["import { a } from './a.ts';"], true],
    ['is reported if only its types are imported', ["import type { A } from './a.ts';"], true],
    ['is not reported if the file re-exports it', ["export { a } from './a.ts';"], false],
    ['is not reported if the file loads it at its first use', ["await import('./a.ts');"], false],
    ['is not reported if a bundle loads it at its first use', ["import a from 'lazy:./a.ts';"], false],
    ['is not reported if the file imports it only for its effects', ["import './a.ts';"], false],
    ['is not reported if a second file imports it', Array(2).fill("import { a } from './a.ts';"), false],
    ['is not reported if no file imports it', ['export {};'], false],
  ])('%s', (_title, importerTexts: readonly string[], isReported) => {
    const files = Object.fromEntries(importerTexts.map((text, index) => [`b${index}.ts`, text]));
    expect(mergeableFilesOf({ 'a.ts': 'export const a = 1;', ...files }).length).toBe(isReported ? 1 : 0);
  });

  it('is reported up to 39 lines', () => {
    const filesWith = (lineCount: number) => ({
      'a.ts': 'a;\n'.repeat(lineCount),
      'b.ts': "import { a } from './a.ts';",
    });
    expect([mergeableFilesOf(filesWith(39)).length, mergeableFilesOf(filesWith(40)).length]).toEqual([1, 0]);
  });
});
