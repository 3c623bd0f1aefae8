import { describe, expect, it } from 'vitest';
import { dependencyProblems, importProblems, LAYERS } from './layers.ts';
import { createRepository, runTool } from './temporary-repository.ts';
import {
  type Manifest,
  modulesOf,
  packageFolders,
  parseModule,
  readJson,
  readText,
  walk,
} from './sources.ts';

const manifestOf = (folder: string): Manifest => readJson(`packages/${folder}/package.json`);

describe('the layer check', () => {
  it('has one row for each package', () => {
    expect(packageFolders()).toEqual(Object.keys(LAYERS).sort());
  });

  it.each(packageFolders())('finds no forbidden or undeclared import in packages/%s', (folder) => {
    const modules = modulesOf(folder);
    expect(modules.length).toBeGreaterThan(0);
    expect(modules.flatMap((module) => importProblems(module, manifestOf(folder)))).toEqual([]);
  });

  it.each(packageFolders())('finds no forbidden dependency in packages/%s', (folder) => {
    expect(dependencyProblems(folder, manifestOf(folder))).toEqual([]);
  });

  it('finds imports in every form', () => {
    const text = `
      import a from 'a'; import type { B } from 'b'; export { c } from 'c'; export * from 'd';
      export type { E } from 'e'; const f = await import('f'); type G = import('g').G; import 'h';
      import i from 'lazy:./i.ts';`;
    const module = parseModule('core', 'packages/core/src/x.ts', text);
    expect(module.imports.toSorted()).toEqual(['./i.ts', 'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']);
    expect(module.runtimeImports.toSorted()).toEqual(['./i.ts', 'a', 'c', 'd', 'f', 'h']);
  });

  it('counts `import { type … }` as an import at run time, because the compiler keeps it', () => {
    const module = parseModule('core', 'packages/core/src/x.ts', "import { type A } from 'a';");
    expect(module.runtimeImports).toEqual(['a']);
  });

  it.each([
    ['core', 'src/a.ts', 'node:fs', 'pure'],
    ['core', 'src/a.ts', 'p-queue', 'only what its layer lists'],
    ['core', 'src/a.ts', 'zod', 'does not declare'],
    ['core', 'src/a.ts', '../../engine/src/index.ts', 'leaves its package'],
    ['core', 'src/machine/a.ts', '../json.ts', 'nothing outside itself'],
    ['core', 'src/machine/a.ts', 'zod', 'nothing outside itself'],
    ['core', 'src/a.test.ts', '@heddle/engine', 'may not import'],
    ['sandbox', 'src/a.ts', '@heddle/core', 'may not import'],
    ['sandbox', 'src/a.ts', '@heddle/images', 'may not import'],
    ['images', 'src/a.ts', '@heddle/engine', 'may not import'],
    ['engine', 'src/a.ts', '@heddle/images', 'may not import'],
    ['engine', 'src/a.ts', 'heddle', 'may not import'],
    ['engine', 'src/records/a.ts', '../execution/gate.ts', 'may not import'],
    ['engine', 'src/execution/a.ts', '../runtime/local/driver.ts', 'may not import'],
    ['engine', 'src/runtime/segments/a.ts', '../local/driver.ts', 'may not import'],
    ['temporal', 'src/a.ts', '@heddle/sandbox', 'may not import'],
    ['temporal', 'src/a.ts', 'heddle', 'may not import'],
    ['loom', 'src/a.ts', 'zod', 'no row'],
  ])('refuses packages/%s/%s if it imports %s', (folder, file, specifier, reason) => {
    const module = parseModule(folder, `packages/${folder}/${file}`, `import '${specifier}';`);
    expect(importProblems(module, { name: folder })).toEqual([expect.stringContaining(reason)]);
  });

  it('refuses a dependency that no module imports yet', () => {
    const manifest = { name: '@heddle/core', dependencies: { undici: '1.0.0' } };
    expect(dependencyProblems('core', manifest)).toHaveLength(1);
  });
});

describe('purity of core', () => {
  const clockReads = (folder: string, file: string, text: string): string[] => {
    const reads: string[] = [];
    walk(parseModule(folder, file, text).program.body, (node) => {
      const callee = (node['callee'] as { name?: string } | undefined)?.name;
      const count = (node['arguments'] as unknown[] | undefined)?.length;
      if (callee !== 'Date') return;
      if (node['type'] === 'CallExpression' || count === 0) reads.push(`${file} reads the clock`);
    });
    return reads;
  };

  it('no module reads the clock through Date', () => {
    const modules = modulesOf('core').filter((module) => !module.isTest);
    expect(modules.length).toBeGreaterThan(0);
    expect(modules.flatMap((module) => clockReads('core', module.file, module.text))).toEqual([]);
  });

  it.each(['new Date()', 'Date()', 'new Date'])('%s counts as reading the clock', (expression) => {
    expect(clockReads('core', 'a.ts', `export const now = ${expression};`)).toHaveLength(1);
  });

  it('a Date of a given time does not count as reading the clock', () => {
    expect(clockReads('core', 'a.ts', 'export const at = new Date(0).toISOString();')).toEqual([]);
  });

  it.each(['fetch', 'process', 'setTimeout', 'console', 'structuredClone'])(
    'its types do not have %s',
    (name) => {
      using testRepository = createRepository({
        'packages/core/tsconfig.build.json': readText('packages/core/tsconfig.build.json'),
        'packages/core/src/a.ts': `export const a: unknown = ${name};\n`,
      });
      const { code, output } = runTool(
        'tsc',
        ['-p', 'packages/core/tsconfig.build.json'],
        testRepository.folder,
      );
      expect(code).not.toBe(0);
      expect(output).toContain(`'${name}'`);
    },
  );

  it('the machine does not name a block type', () => {
    const modules = modulesOf('core').filter(
      (module) => module.file.includes('/src/machine/') && !module.isTest,
    );
    expect(modules.length).toBeGreaterThan(0);
    const modulesWithBlockTypes = modules.filter((module) => BLOCK_TYPE_PATTERN.test(module.text));
    expect(modulesWithBlockTypes.map((module) => module.file)).toEqual([]);
  });
});

// Without loop, parallel, wait and response, because the machine also uses these words for other things.
const BLOCK_TYPE_PATTERN =
  /['"](function|condition|router|api|agent|mcp|variables|human_in_the_loop|note|starter)['"]/;

describe('the environment', () => {
  it.each(packageFolders().filter((folder) => folder !== 'cli'))('is not read by packages/%s', (folder) => {
    const modules = modulesOf(folder).filter((module) => !module.isTest);
    expect(modules.length).toBeGreaterThan(0);
    const readers = modules.filter((module) => module.text.includes('process.env'));
    expect(readers.map((module) => module.file)).toEqual([]);
  });
});
