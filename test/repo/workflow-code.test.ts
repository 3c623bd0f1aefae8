import { isAbsolute } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Module, modulesOf, parseModule, readText } from './sources.ts';
import { bundledModules, mayBeBundled, workflowCode, workflowProblems } from './workflow-code.ts';

const SOURCE_FOLDER = 'packages/temporal/src';

describe('the code of the workflows on Temporal', () => {
  const parseAll = (files: Readonly<Record<string, string>>): Module[] =>
    Object.entries(files).map(([file, text]) => parseModule('temporal', `${SOURCE_FOLDER}/${file}`, text));

  it('imports at run time only the machine, the SDK for workflows, and itself', () => {
    const modules = modulesOf('temporal');
    const files = workflowCode(modules).map(({ file }) => file);
    expect(files).toEqual(
      expect.arrayContaining([`${SOURCE_FOLDER}/workflow/main.ts`, `${SOURCE_FOLDER}/messages.ts`]),
    );
    expect(workflowProblems(modules)).toEqual([]);
  });

  it.each([
    'node:crypto',
    '@heddle/core',
    '@heddle/core/run',
    '@heddle/engine/runtime',
    '@temporalio/common',
    '@temporalio/worker',
    '../../../core/src/plan/plan.ts',
  ])('may not import %s', (specifier) => {
    expect(workflowProblems(parseAll({ 'workflow/a.ts': `import { a } from '${specifier}';` }))).toHaveLength(
      1,
    );
  });

  it('may not import a forbidden module through another module', () => {
    const modules = parseAll({
      'workflow/a.ts': "import { b } from '../b.ts';",
      'b.ts': "export { c } from './c.ts';",
      'c.ts': "export const c = await import('node:fs');",
    });
    expect(workflowProblems(modules)).toEqual([
      `${SOURCE_FOLDER}/c.ts runs as a workflow and imports node:fs`,
    ]);
  });

  it('may import types from anywhere', () => {
    const modules = parseAll({
      'workflow/a.ts': "import type { Plan } from '@heddle/core'; import type { B } from '../b.ts';",
      'b.ts':
        "import { createHash } from 'node:crypto'; export interface B { readonly b: typeof createHash }",
    });
    expect(workflowProblems(modules)).toEqual([]);
  });
});

describe('the bundle of the workflows', () => {
  const readBundle = (): string => readText('packages/temporal/dist/workflow-bundle.js');

  it('contains only the machine, the workflows and the SDK for workflows', () => {
    const modules = bundledModules(readBundle());
    for (const name of [
      './dist/workflow/main.js',
      '../core/dist/machine/step.js',
      '../../node_modules/@temporalio/workflow/lib/worker-interface.js',
    ])
      expect(modules).toContain(name);
    expect(modules.filter((name) => !mayBeBundled(name))).toEqual([]);
  });

  it('has a heading for every module', () => {
    const code = readBundle();
    const ids = [...code.matchAll(/^\/\*\*\*\/ "[^"]+"/gm)];
    expect(ids.length).toBeGreaterThan(50);
    // The entry has a heading too, but no id.
    expect(bundledModules(code)).toHaveLength(ids.length + 1);
  });

  it.each([
    '../core/dist/index.js',
    '../core/dist/plan/plan.js',
    '../core/dist/machine/../plan/plan.js',
    '../engine/dist/index.js',
    './dist/hash.js',
    './dist/client/runtime.js',
    '../../node_modules/zod/index.js',
    '../../node_modules/graphology/dist/graphology.esm.js',
    '../../node_modules/@temporalio/worker/lib/index.js',
    '../../node_modules/@temporalio/common/node_modules/protobufjs/minimal.js',
    'crypto (ignored)',
    'external "node:fs"',
  ])('may not contain %s', (name) => {
    expect(mayBeBundled(name)).toBe(false);
  });

  it('is small, because each worker reads it at startup', () => {
    expect(Buffer.byteLength(readBundle())).toBeLessThan(1_250_000);
  });

  it('has a source map of positions, without the text of sources and without absolute paths', () => {
    const [, base64 = ''] = /\/\/# sourceMappingURL=data:[^,]*;base64,(\S+)\s*$/.exec(readBundle()) ?? [];
    const sourceMap = JSON.parse(Buffer.from(base64, 'base64').toString()) as {
      mappings: string;
      sources: string[];
      sourcesContent?: unknown;
    };
    expect(sourceMap.mappings.length).toBeGreaterThan(1000);
    expect(sourceMap.sources).toContain('packages/temporal/src/workflow/driver.ts');
    expect(sourceMap.sources.filter((source) => isAbsolute(source) || source.includes('|/'))).toEqual([]);
    expect(sourceMap.sourcesContent).toBeUndefined();
  });
});
