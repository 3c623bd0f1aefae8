import { rmSync } from 'node:fs';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { createSandbox, type FunctionOutcome } from '@heddle/sandbox';
import type { EgressResponse } from '@heddle/sandbox/egress';
import { createDataFolder } from '../../../../test/support/data-folder.ts';
import { openImages } from '../../../../test/support/images.ts';
import { openNpmRegistry, type FixturePackage } from '../../../../test/support/npm-registry.ts';
import { createImages, type Images } from '../index.ts';
import type { ImageRecord } from '../record.ts';
import { javascriptBuilder } from './builder.ts';
import { findNpm } from './npm-settings.ts';

const PACKAGES: readonly FixturePackage[] = [
  {
    name: 'common',
    files: {
      'index.js':
        'let count = 0; exports.next = () => ++count; exports.boom = () => { throw new TypeError("from inside"); };',
      'extra.js': 'exports.extra = require("./index.js").next;',
      'data.json': '{"kind": "json", "default": "own"}',
      'list.json': '[1, 2]',
      'lib/inner.js': 'exports.inner = require("../index.js").next;',
    },
  },
  { name: 'callable', files: { 'index.js': 'module.exports = (a) => a + 1; module.exports.version = "1";' } },
  {
    name: '@scope/modern',
    files: {
      'index.js': 'export default class Modern {}; export const answer = 42;',
      'deep.js': 'export const deep = 1;',
    },
    manifest: { type: 'module', exports: { '.': './index.js', './deep': './deep.js' } },
  },
  {
    name: 'multi-module',
    files: {
      'index.mjs': 'export const made = {}; export const how = "import";',
      'index.cjs': 'exports.made = {}; exports.how = "require";',
      'lib/one.mjs': 'import { made } from "../index.mjs"; export const one = made;',
      'lib/one.cjs': 'throw new Error("the same in another format");',
      'lib/deep/two.mjs': 'export { one as two } from "../one.mjs";',
      'lib/closed/three.mjs': 'export const three = 3;',
      'lib/needy.mjs': 'import "not-installed"; export const needy = 1;',
      'lib/types.d.ts': 'export type T = 1;',
      'values.json': '{"a": 1}',
    },
    manifest: {
      exports: {
        '.': { types: './lib/types.d.ts', import: './index.mjs', require: './index.cjs' },
        './values.json': './values.json',
        './package.json': './package.json',
        './features/*': './lib/*.mjs',
        './features/closed/*': null,
        './types': { types: './lib/types.d.ts' },
        './gone': './lib/gone.mjs',
      },
    },
  },
  {
    name: 'sloppy',
    files: { 'index.js': 'exports.main = 1;', 'draft.js': 'const = ;', 'valid.js': 'exports.valid = 1;' },
  },
  {
    name: 'uses-node',
    files: {
      'index.js': `
        const { EventEmitter } = require('events');
        const { createHash } = require('node:crypto');
        const path = require('path');
        const fs = require('fs');
        exports.emit = () => { const e = new EventEmitter(); let got; e.on('x', (v) => (got = v)); e.emit('x', 5); return got; };
        exports.hash = (text) => createHash('sha256').update(text).digest('hex');
        exports.join = () => path.join('/a', '..', 'b');
        exports.read = () => fs.readFileSync('/etc/passwd', 'utf8');
        exports.env = () => [typeof process, Object.keys(process.env).length, typeof setImmediate];`,
    },
  },
  {
    name: 'talkative',
    files: { 'index.js': 'console.log("loaded"); exports.say = () => console.log("called");' },
  },
  { name: 'impure', files: { 'index.js': 'exports.seed = crypto.randomUUID(); exports.at = Date.now();' } },
];
const SHARED_DEPENDENCIES = ['common', 'callable', '@scope/modern', 'uses-node'];

/** Builds an image named `tools` of packages from `PACKAGES`. */
async function build(images: Images, dependencies: readonly string[]): Promise<ImageRecord> {
  const record = await images.build({ language: 'javascript', dependencies }, { name: 'tools' });
  expect(record).toMatchObject({ state: 'ready', errorMessage: null });
  return record;
}

const builders = { javascript: javascriptBuilder({ npm: findNpm(process.env['PATH']) }) };
const registry = await openNpmRegistry(PACKAGES);
const registries = { npm: { registry: registry.url } };
const folder = createDataFolder(afterAll);
const sharedImages = createImages({ folder, builders, registries });
afterAll(async () => {
  await sharedImages.close();
  registry.close();
});
let sharedBuild: Promise<ImageRecord> | undefined;

/**
 * Creates a sandbox with an image of packages. Returns a function that runs code in it, and the store and record of the
 * image. The image of `SHARED_DEPENDENCIES` is built once, because a build takes a second.
 */
async function createRunner(dependencies: readonly string[]) {
  const images = dependencies === SHARED_DEPENDENCIES ? sharedImages : openImages(builders, { registries });
  const buildPromise =
    images === sharedImages
      ? (sharedBuild ??= build(sharedImages, SHARED_DEPENDENCIES))
      : build(images, dependencies);
  const record = await buildPromise;
  const sandbox = createSandbox({ images, maxProcesses: 1 });
  onTestFinished(() => sandbox.close());
  const run = (code: string, options: { image?: string } = { image: 'tools' }): Promise<FunctionOutcome> =>
    sandbox.run({ runId: 'run', code, ...options });
  return { run, images, record };
}

async function valueOf(outcome: Promise<FunctionOutcome>): Promise<unknown> {
  const result = await outcome;
  if (!result.ok) throw new Error(`${result.error.code}: ${result.error.message}`);
  return JSON.parse(result.json);
}

async function failureOf(outcome: Promise<FunctionOutcome>): Promise<object> {
  const result = await outcome;
  if (result.ok) throw new Error(`It returned ${result.json}.`);
  return result.error;
}

describe('code with an image', () => {
  it('imports and requires its packages with default, namespace and named imports', async () => {
    const { run } = await createRunner(SHARED_DEPENDENCIES);
    const code = `
      import common, { next as step } from 'common';
      import callable from "callable"; import * as all from 'callable'
      import Modern, { answer } from '@scope/modern';
      import { deep } from '@scope/modern/deep';
      import 'common';
      const later = await import('@scope/' + 'modern');
      const { extra } = require('common/extra');
      return [common.next(), step(), extra(), callable(1), all.version, typeof Modern, answer, deep,
        later.answer, require('callable')(5), require('callable') === callable, later.default === Modern];`;
    expect(await valueOf(run(code))).toEqual([1, 2, 3, 2, '1', 'function', 42, 1, 42, 6, true, true]);
  });

  it('imports and requires the other modules that packages offer, by name or pattern, including JSON', async () => {
    const { run, record } = await createRunner(['common', 'multi-module']);
    expect(record.warnings).toEqual([]);
    const code = `
      import data, { kind } from 'common/data.json' with { type: 'json' };
      import list from 'common/list.json';
      import { inner } from 'common/lib/inner';
      import { made, how } from 'multi-module';
      import { one } from 'multi-module/features/one';
      const { two } = await import('multi-module/features/deep/two');
      return [data, kind, list, require('common/data') === data, inner(), how, one === made, two === made, require('multi-module').made === made,
        require('multi-module/values.json').a, require('multi-module/package.json').version];`;
    const json = { kind: 'json', default: 'own' };
    expect(await valueOf(run(code))).toEqual([
      ...[json, 'json', [1, 2], true, 1, 'import', true, true, true],
      ...[1, '1.0.0'],
    ]);
    for (const path of ['features/closed/three', 'types', 'gone', 'lib/one.mjs', 'index.cjs'])
      expect(await failureOf(run(`return require('multi-module/${path}')`))).toMatchObject({
        code: 'MODULE_NOT_IN_IMAGE',
      });
    expect(await failureOf(run("return require('multi-module/features/needy')"))).toMatchObject({
      code: 'USER_ERROR',
      message: "Cannot find module 'not-installed'",
    });
  });

  it('gets only the main module of a package whose other modules cannot be bundled, with a warning', async () => {
    const { run, record } = await createRunner(['common', 'sloppy']);
    expect(record.warnings).toEqual([expect.stringMatching(/^Only the main module .*: sloppy\.$/)]);
    const code = "return [require('sloppy').main, require('common/extra').extra()]";
    expect(await valueOf(run(code))).toEqual([1, 1]);
    expect(await failureOf(run("return require('sloppy/valid')"))).toMatchObject({
      code: 'MODULE_NOT_IN_IMAGE',
    });
  });

  it('finds packages unchanged, whatever earlier code did', async () => {
    const { run } = await createRunner(SHARED_DEPENDENCIES);
    await valueOf(
      run("const c = require('common'); c.next(); c.next = null; Object.prototype.x = 1; return 1"),
    );
    expect(await valueOf(run("return [require('common').next(), ({}).x]"))).toEqual([1, null]);
    const readRandomNumber = () => valueOf(run('return Math.random()'));
    const [firstNumber, secondNumber] = [await readRandomNumber(), await readRandomNumber()];
    expect(firstNumber).not.toBe(secondNumber);
  });

  it('can print even if a package printed while it was loaded', async () => {
    const { run } = await createRunner(['talkative']);
    const outcome = await run("require('talkative').say(); console.log('printed'); return 1");
    expect(outcome).toMatchObject({
      ok: true,
      stdout: expect.stringMatching(/called\nprinted\n?$/) as string,
    });
  });

  it('provides Node.js builtins to packages, and none to user code', async () => {
    const { run } = await createRunner(SHARED_DEPENDENCIES);
    const code = `const n = require('uses-node');
      return [n.emit(), n.hash('abc'), n.join(), n.env(), typeof process, typeof __heddleImage];`;
    expect(await valueOf(run(code))).toEqual([
      5,
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
      '/b',
      ['object', 0, 'function'],
      'undefined',
      'undefined',
    ]);
  });

  it('fails with the name and line of a missing module or export', async () => {
    const { run } = await createRunner(SHARED_DEPENDENCIES);
    expect(await failureOf(run("\nimport x from 'lodash';"))).toMatchObject({
      code: 'MODULE_NOT_IN_IMAGE',
      message:
        'The module "lodash" is not in the image, which has: @scope/modern, callable, common, uses-node',
      line: 2,
    });
    expect(await failureOf(run("const a = 1;\n\nrequire('node:fs')"))).toMatchObject({
      code: 'BUILTIN_NOT_AVAILABLE',
      message: 'The Node.js module fs is not available in the sandbox',
      line: 3,
    });
    expect(await failureOf(run("await 1;\nreturn require('uses-node').read()"))).toMatchObject({
      code: 'BUILTIN_NOT_AVAILABLE',
      message: 'The Node.js module fs.readFileSync is not available in the sandbox',
      line: 2,
    });
    expect(await failureOf(run("import { nothing } from '@scope/modern'"))).toMatchObject({
      code: 'USER_ERROR',
      name: 'SyntaxError',
      message: 'The module "@scope/modern" does not export "nothing"',
    });
    expect(await failureOf(run("import x from 'common'", {}))).toMatchObject({ code: 'MODULE_NOT_IN_IMAGE' });
    expect(await failureOf(run('return 1', { image: 'ghost' }))).toMatchObject({ code: 'IMAGE_NOT_FOUND' });
  });

  it('reports correct lines in its own errors and those of packages', async () => {
    const { run } = await createRunner(SHARED_DEPENDENCIES);
    const threeLineImport = 'import {\n  next,\n} from "common";\n';
    expect(await failureOf(run(`${threeLineImport}missing();`))).toMatchObject({
      code: 'USER_ERROR',
      line: 4,
      column: 1,
    });
    expect(await failureOf(run(`${threeLineImport}const = 1;`))).toMatchObject({
      code: 'SYNTAX_ERROR',
      line: 4,
    });
    expect(await failureOf(run('const c = await import("common");\nc.boom();'))).toMatchObject({
      code: 'USER_ERROR',
      message: 'from inside',
      line: 2,
    });
  });

  it('may contain the word import in strings, comments and regular expressions', async () => {
    const { run } = await createRunner(SHARED_DEPENDENCIES);
    const code =
      'const a = "import x from \'y\'"; /* import(z) */ // import q from "q"\n' +
      'const r = /import("x")/; return [a, `import ${"(b)"}`, r.source, { import: 1 }.import];';
    expect(await valueOf(run(code))).toEqual(["import x from 'y'", 'import (b)', 'import("x")', 1]);
  });

  it('keeps running when its image is removed with its files; the next run does not find the image', async () => {
    const { images } = await createRunner(['common']);
    const { blobs } = await images.open('tools');
    const fetch = async (): Promise<EgressResponse> => {
      expect(images.remove('tools')).toBe(true);
      expect(images.remove((await images.list())[0]!.id)).toBe(true);
      for (const { path } of Object.values(blobs)) rmSync(path);
      return { url: '', status: 200, statusText: '', headers: [], redirected: false, body: new Uint8Array() };
    };
    const sandbox = createSandbox({ images, maxProcesses: 1, fetch });
    onTestFinished(() => sandbox.close());
    const code =
      "const c = require('common'); await fetch('http://x.test/'); return [c.next(), require('common/extra').extra()]";
    expect(await valueOf(sandbox.run({ runId: 'run', code, image: 'tools' }))).toEqual([1, 2]);
    const nextOutcome = sandbox.run({ runId: 'run', code: 'return 1', image: 'tools' });
    expect(await failureOf(nextOutcome)).toMatchObject({ code: 'IMAGE_NOT_FOUND' });
  });

  it('gets its own time and random numbers from packages that read them while loading', async () => {
    const { run } = await createRunner(['impure']);
    const before = Date.now();
    const [firstValues, secondValues] = (await Promise.all([
      valueOf(run("const i = require('impure'); return [i.seed, i.at]")),
      valueOf(run("const i = require('impure'); return [i.seed, i.at]")),
    ])) as [string, number][];
    expect(firstValues![0]).not.toBe(secondValues![0]);
    expect(firstValues![1]).toBeGreaterThanOrEqual(before);
  });
});
