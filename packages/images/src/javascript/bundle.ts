import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BuildFailure, Plugin, PluginBuild } from 'esbuild';
import { BUILTIN_NAMES, SHIMS_FILE } from '@heddle/sandbox/build';
import { ImageError } from '../error.ts';

/** Changes when bundles of the same packages come out differently: part of the runtime key. */
export const BUNDLE_REVISION = '2';

/** Builtins that packages cannot do without: what a package that reaches one of them is for will hardly work. */
const LIMITING = new Set([
  'child_process',
  'cluster',
  'dgram',
  'dns',
  'fs',
  'fs/promises',
  'http',
  'https',
  'http2',
  'net',
  'tls',
  'worker_threads',
]);
const BUILTINS: ReadonlySet<string> = new Set(BUILTIN_NAMES);
const WHOLE = new Set([
  'assert',
  'assert/strict',
  'buffer',
  'events',
  'path',
  'path/posix',
  'querystring',
  'stream',
  'stream/promises',
  'string_decoder',
  'util',
  'util/types',
  'zlib',
]);
const PARTS = new Set([
  'async_hooks',
  'crypto',
  'diagnostics_channel',
  'os',
  'perf_hooks',
  'timers',
  'timers/promises',
  'tty',
  'url',
]);

/**
 * lodash reads the clock while it loads, to find out which of its functions are called very often. What it remembers of
 * that is harmless in a snapshot, so it is not counted: everything that is built on lodash would be loaded anew for each run.
 */
const QUIET = {
  file: /\/lodash(?:-es|\.\w+)?\/(?:lodash|_shortOut|index)\.js$/,
  from: 'nativeNow = Date.now',
  to: 'nativeNow = __heddleImage.now',
};

export interface Bundle {
  readonly code: string;
  /** Builtins that packages import and that do nothing here. */
  readonly missing: readonly string[];
  /** Native addons that packages import. */
  readonly addons: readonly string[];
}

/** One thing that user code can import: `eager` ones are loaded with the image. */
export interface ImageModule {
  readonly name: string;
  readonly eager: boolean;
}

function stub(name: string): string {
  const text = JSON.stringify(name);
  if (WHOLE.has(name))
    return `module.exports = require(${JSON.stringify(SHIMS_FILE)}).completeBuiltins[${text}];`;
  if (name === 'process') return 'module.exports = process;';
  const base = PARTS.has(name) ? `require(${JSON.stringify(SHIMS_FILE)}).partialBuiltins[${text}]` : '{}';
  return `module.exports = __heddleImage.builtin(${text}, ${base});`;
}

/** Puts shims and stubs in the place of builtins, and notes what is missing. */
function builtins(missing: Set<string>, addons: Set<string>): Plugin {
  return {
    name: 'builtins',
    setup(build: PluginBuild) {
      build.onResolve(
        { filter: /^(?:node:)?[a-z_0-9]+(?:\/[a-z_0-9]+)?$/ },
        async ({ path, importer, kind, resolveDir, pluginData }) => {
          const name = path.replace(/^node:/, '');
          if (!BUILTINS.has(name) || pluginData === 'own' || importer === SHIMS_FILE) return undefined;
          if (!path.startsWith('node:')) {
            // A package of that name, which the spec or a package asked for, goes before the builtin.
            const own = await build.resolve(path, { kind, resolveDir, importer, pluginData: 'own' });
            if (own.errors.length === 0 && !own.external && own.path.includes('node_modules')) return own;
          }
          if (LIMITING.has(name)) missing.add(name);
          return { path: name, namespace: 'builtin' };
        },
      );
      build.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
        contents: stub(path),
        loader: 'js',
        resolveDir: dirname(SHIMS_FILE),
      }));
      build.onLoad({ filter: QUIET.file }, async ({ path }) => ({
        contents: (await readFile(path, 'utf8')).replace(QUIET.from, QUIET.to),
        loader: 'js',
      }));
      build.onLoad({ filter: /\.node$/ }, ({ path }) => {
        const inside = path.slice(path.lastIndexOf('node_modules') + 'node_modules/'.length);
        addons.add(inside);
        return {
          contents: `throw new Error(${JSON.stringify(`The native addon ${inside} cannot be loaded in the sandbox`)});`,
        };
      });
    },
  };
}

/** Lets modules in the bundle that ask for what is absent: they fail when they are loaded. */
function withoutAbsent(absent: ReadonlySet<string>): Plugin {
  const filter = new RegExp(
    `^(?:${[...absent].map((name) => name.replace(/[!-/:-@[-^`{-~]/g, '\\$&')).join('|')})$`,
  );
  return {
    name: 'absent',
    setup(build: PluginBuild) {
      build.onResolve({ filter }, async ({ path, importer, kind, resolveDir, pluginData }) => {
        if (pluginData === 'own') return undefined;
        // Some may have one of the name.
        const found = await build.resolve(path, { kind, resolveDir, importer, pluginData: 'own' });
        return found.errors.length === 0 ? found : { path, namespace: 'absent' };
      });
      build.onLoad({ filter: /.*/, namespace: 'absent' }, ({ path }) => ({
        contents: `throw Object.assign(new Error(${JSON.stringify(`Cannot find module '${path}'`)}), { code: 'MODULE_NOT_FOUND' });`,
      }));
    },
  };
}

/** What packages call the environment: that of the guest, which is empty. */
const ENVIRONMENT = ['process', 'env'].join('.');

/** What stands before the bundle: names that packages expect of Node, and that user code does not see. */
const BEFORE = `(function (__heddleImage) {
var global = globalThis;
var process = { env: {}, argv: [], execArgv: [], version: '', versions: {}, platform: 'browser', arch: 'wasm', browser: true, pid: 1,
  title: 'heddle', release: {}, config: {}, features: {}, stdout: undefined, stderr: undefined,
  cwd: function () { return '/'; }, uptime: function () { return performance.now() / 1000; },
  hrtime: function () { var t = performance.now(); return [Math.floor(t / 1000), Math.floor((t % 1000) * 1e6)]; },
  nextTick: function (f) { var a = Array.prototype.slice.call(arguments, 1); queueMicrotask(function () { f.apply(undefined, a); }); },
  emitWarning: function () {}, on: function () { return process; }, once: function () { return process; },
  off: function () { return process; }, addListener: function () { return process; }, removeListener: function () { return process; },
  removeAllListeners: function () { return process; }, emit: function () { return false; }, listeners: function () { return []; },
  listenerCount: function () { return 0; } };
`;
const AFTER = '})(globalThis.__heddleImage);';

function entryOf(modules: readonly ImageModule[]): string {
  const lines = modules.map(({ name, eager }) => {
    const text = JSON.stringify(name);
    return `__heddleImage.add(${text}, () => require(${text}), ${String(eager)});`;
  });
  return lines.join('\n');
}

/** What esbuild did not like, one fault a line. */
function explain(error: unknown): ImageError {
  const faults = (error as Partial<BuildFailure>).errors ?? [];
  const lines = faults.slice(0, 20).map(({ text, location }) => {
    const at =
      location === null ? '' : ` (${location.file.replace(/^.*node_modules\//, '')}:${location.line})`;
    return `${text}${at}`;
  });
  if (lines.length === 0) throw error;
  return new ImageError(
    'bundle_failed',
    `The packages cannot be made one script: ${lines.join('; ')}`.slice(0, 2_000),
    { cause: error },
  );
}

/** What modules of a bundle that failed asked for and did not find. */
export function absentIn({ cause }: ImageError): ReadonlySet<string> {
  const faults = (cause as Partial<BuildFailure> | undefined)?.errors ?? [];
  return new Set(faults.flatMap(({ text }) => /^Could not resolve "(.+)"/.exec(text)?.[1] ?? []));
}

/**
 * One script with the modules and all that they need, from the node_modules in a folder. What asks for something `absent` is
 * in it, and fails when it is loaded.
 * @throws ImageError bundle_failed.
 */
export async function bundle(
  folder: string,
  modules: readonly ImageModule[],
  absent: ReadonlySet<string> = new Set(),
): Promise<Bundle> {
  const missing = new Set<string>();
  const addons = new Set<string>();
  // Loaded here: a process that only runs code does not pay for it.
  const esbuild = await import('esbuild');
  try {
    const { outputFiles } = await esbuild.build({
      stdin: { contents: entryOf(modules), resolveDir: folder, loader: 'js', sourcefile: 'image.js' },
      absWorkingDir: folder,
      bundle: true,
      format: 'iife',
      platform: 'browser',
      mainFields: ['browser', 'module', 'main'],
      conditions: ['worker', 'browser', 'import', 'default'],
      loader: { '.wasm': 'binary' },
      define: { [`${ENVIRONMENT}.NODE_ENV`]: '"production"', [`${ENVIRONMENT}.NODE_DEBUG`]: '""' },
      target: 'es2024',
      minify: true,
      keepNames: false,
      legalComments: 'none',
      outfile: join(folder, 'bundle.js'),
      write: false,
      // Configuration that packages ship is not ours.
      tsconfigRaw: '{}',
      logLevel: 'silent',
      logLimit: 0,
      plugins: [builtins(missing, addons), ...(absent.size > 0 ? [withoutAbsent(absent)] : [])],
    });
    const code = BEFORE + ((outputFiles[0]?.text ?? '') as string) + AFTER;
    return { code, missing: [...missing].sort(), addons: [...addons].sort() };
  } catch (error) {
    throw explain(error);
  }
}
