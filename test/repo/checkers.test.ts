import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { packageProblems } from './exports.ts';
import { createRepository, runTool } from './temporary-repository.ts';
import { repositoryFolder } from './sources.ts';

const reporter = join(repositoryFolder, 'test/repo/knip-reporter.mjs');

const manifestJson = (name: string, fields: object = {}): string =>
  JSON.stringify({
    name: `@heddle/${name}`,
    version: '0.0.0',
    license: 'Apache-2.0',
    type: 'module',
    files: ['dist'],
    exports: {
      '.': { '@heddle/source': './src/index.ts', types: './dist/index.d.ts', default: './dist/index.js' },
    },
    ...fields,
  });

describe('the reporter of knip', () => {
  const projectFiles = {
    'package.json': '{"name":"r","private":true,"type":"module","workspaces":["packages/*"]}',
    'packages/a/package.json': manifestJson('a'),
    'packages/a/src/index.ts': "export { used } from './used.ts';\n",
  };

  it('fails if knip did not read the modules', () => {
    using testRepository = createRepository({
      ...projectFiles,
      'packages/a/src/used.ts': 'export const used = 1;\n',
    });
    expect(runTool('knip', ['--production', '--reporter', reporter], testRepository.folder).code).toBe(0);
    rmSync(join(testRepository.folder, 'packages/a/src'), { recursive: true });
    expect(runTool('knip', ['--production', '--reporter', reporter], testRepository.folder).code).not.toBe(0);
  });
});

describe('the export check', () => {
  const validFiles = {
    'a/package.json': manifestJson('a', { files: ['dist', 'src'] }),
    'a/LICENSE': 'Apache-2.0\n',
    'a/src/index.ts': 'export const a: number = 1;\n',
    'a/dist/index.js': 'export const a = 1;\n',
    'a/dist/index.d.ts': 'export declare const a: number;\n',
  };

  const problemsOf = (files: Readonly<Record<string, string>>): string[] => {
    using testRepository = createRepository(files);
    return packageProblems([join(testRepository.folder, 'a')]);
  };

  it('accepts a valid package', () => {
    expect(problemsOf(validFiles)).toEqual([]);
  });

  it('finds an export whose file is not in the tarball', () => {
    const problems = problemsOf({ ...validFiles, 'a/package.json': manifestJson('a', { files: ['src'] }) });
    expect(problems.join()).toContain('publint');
    expect(problems).toContain('@heddle/a: ./dist/index.js is not in the tarball');
  });

  it('finds a source file of the condition @heddle/source that is not in the tarball', () => {
    expect(problemsOf({ ...validFiles, 'a/package.json': manifestJson('a') })).toEqual([
      '@heddle/a: ./src/index.ts is not in the tarball',
    ]);
  });

  it('finds an entry point that does not load, and one that exports nothing', () => {
    const importProblems = problemsOf({
      ...validFiles,
      'a/dist/index.js': "import './gone.js';\nexport const a = 1;\n",
    });
    expect(importProblems.join()).toContain('ERR_MODULE_NOT_FOUND');
    expect(problemsOf({ ...validFiles, 'a/dist/index.js': 'export {};\n' }).join()).toContain(
      'exports nothing',
    );
  });

  it('accepts an entry point with types only', () => {
    const typeFiles = { 'a/dist/index.d.ts': 'export type A = number;\nexport interface B {\n  a: A;\n}\n' };
    expect(problemsOf({ ...validFiles, ...typeFiles, 'a/dist/index.js': 'export {};\n' })).toEqual([]);
  });

  it('finds types that do not resolve', () => {
    const types = "export { a } from './gone.js';\n";
    expect(problemsOf({ ...validFiles, 'a/dist/index.d.ts': types }).join()).toContain('attw');
  });
});
