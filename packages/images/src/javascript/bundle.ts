import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BuildFailure, Plugin, PluginBuild } from 'esbuild';
import { BUILTIN_NAMES, SHIMS_FILE } from '@heddle/sandbox/build';
import { ImageError } from '../error.ts';

/** Part of the runtime key. Increment it if the same packages produce a different bundle. */
export const BUNDLE_REVISION = '2';

/** Builtins without which packages that use them are unlikely to work; they cause a warning. */
const ESSENTIAL_BUILTINS = new Set([
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
/** Builtins that shims replace completely. */
const COMPLETE_BUILTINS = new Set([
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
/** Builtins that shims replace in part; their other members throw when they are used. */
const PARTIAL_BUILTINS = new Set([
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
 * lodash reads the clock while it loads, to detect functions that are called very often. That is harmless in a
 * snapshot, so it does not count as a use of the clock. Otherwise all packages that use lodash would be loaded for each
 * run.
 */
const LODASH_CLOCK_PATCH = {
  file: /\/lodash(?:-es|\.\w+)?\/(?:lodash|_shortOut|index)\.js$/,
  search: 'nativeNow = Date.now',
  replacement: 'nativeNow = __heddleImage.now',
};

export interface Bundle {
  readonly code: string;
  /** Essential builtins that packages import and that the sandbox does not provide. */
  readonly missingBuiltins: readonly string[];
  /** Native addons that packages import. */
  readonly addons: readonly string[];
}

/** A module that user code can import; `eager` ones are loaded with the image. */
export interface ImageModule {
  readonly name: string;
  readonly eager: boolean;
}

/** Returns the code of the module that replaces a builtin. */
function createStub(name: string): string {
  const literal = JSON.stringify(name);
  if (COMPLETE_BUILTINS.has(name))
    return `module.exports = require(${JSON.stringify(SHIMS_FILE)}).completeBuiltins[${literal}];`;
  if (name === 'process') return 'module.exports = process;';
  const base = PARTIAL_BUILTINS.has(name)
    ? `require(${JSON.stringify(SHIMS_FILE)}).partialBuiltins[${literal}]`
    : '{}';
  return `module.exports = __heddleImage.builtin(${literal}, ${base});`;
}

/** Replaces builtins with shims and stubs; records missing essential ones, and native addons. */
function builtinsPlugin(missingBuiltins: Set<string>, addons: Set<string>): Plugin {
  return {
    name: 'builtins',
    setup(build: PluginBuild) {
      build.onResolve(
        { filter: /^(?:node:)?[a-z_0-9]+(?:\/[a-z_0-9]+)?$/ },
        async ({ path, importer, kind, resolveDir, pluginData }) => {
          const name = path.replace(/^node:/, '');
          if (!BUILTINS.has(name) || pluginData === 'own' || importer === SHIMS_FILE) return undefined;
          if (!path.startsWith('node:')) {
            // A package with that name takes precedence over the builtin. `own` marks the plugin's own request.
            const localResult = await build.resolve(path, { kind, resolveDir, importer, pluginData: 'own' });
            if (
              localResult.errors.length === 0 &&
              !localResult.external &&
              localResult.path.includes('node_modules')
            )
              return localResult;
          }
          if (ESSENTIAL_BUILTINS.has(name)) missingBuiltins.add(name);
          return { path: name, namespace: 'builtin' };
        },
      );
      build.onLoad({ filter: /.*/, namespace: 'builtin' }, ({ path }) => ({
        contents: createStub(path),
        loader: 'js',
        resolveDir: dirname(SHIMS_FILE),
      }));
      build.onLoad({ filter: LODASH_CLOCK_PATCH.file }, async ({ path }) => ({
        contents: (await readFile(path, 'utf8')).replace(
          LODASH_CLOCK_PATCH.search,
          LODASH_CLOCK_PATCH.replacement,
        ),
        loader: 'js',
      }));
      build.onLoad({ filter: /\.node$/ }, ({ path }) => {
        const addon = path.slice(path.lastIndexOf('node_modules') + 'node_modules/'.length);
        addons.add(addon);
        return {
          contents: `throw new Error(${JSON.stringify(`The native addon ${addon} cannot be loaded in the sandbox`)});`,
        };
      });
    },
  };
}

/** Keeps modules in the bundle that import something unresolved; they fail when they are loaded. */
function unresolvedModulesPlugin(unresolvedNames: ReadonlySet<string>): Plugin {
  const filter = new RegExp(
    `^(?:${[...unresolvedNames].map((name) => name.replace(/[!-/:-@[-^`{-~]/g, '\\$&')).join('|')})$`,
  );
  return {
    name: 'unresolved',
    setup(build: PluginBuild) {
      build.onResolve({ filter }, async ({ path, importer, kind, resolveDir, pluginData }) => {
        if (pluginData === 'own') return undefined;
        // Another importer may be able to resolve it.
        const resolveResult = await build.resolve(path, { kind, resolveDir, importer, pluginData: 'own' });
        return resolveResult.errors.length === 0 ? resolveResult : { path, namespace: 'unresolved' };
      });
      build.onLoad({ filter: /.*/, namespace: 'unresolved' }, ({ path }) => ({
        contents: `throw Object.assign(new Error(${JSON.stringify(`Cannot find module '${path}'`)}), { code: 'MODULE_NOT_FOUND' });`,
      }));
    },
  };
}

/** The expression with which packages read environment variables, of which the guest has none. */
const ENV_EXPRESSION = ['process', 'env'].join('.');

/** Prepended to the bundle: Node.js globals that packages expect and user code does not see. */
const PREFIX = `(function (__heddleImage) {
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
const SUFFIX = '})(globalThis.__heddleImage);';

/** Returns the script that registers the modules with the guest runtime. */
function entryScriptOf(modules: readonly ImageModule[]): string {
  const lines = modules.map(({ name, eager }) => {
    const literal = JSON.stringify(name);
    return `__heddleImage.add(${literal}, () => require(${literal}), ${String(eager)});`;
  });
  return lines.join('\n');
}

/** Returns the error for a failed esbuild run, listing its messages. */
function toImageError(error: unknown): ImageError {
  const messages = (error as Partial<BuildFailure>).errors ?? [];
  const lines = messages.slice(0, 20).map(({ text, location }) => {
    const position =
      location === null ? '' : ` (${location.file.replace(/^.*node_modules\//, '')}:${location.line})`;
    return `${text}${position}`;
  });
  if (lines.length === 0) throw error;
  return new ImageError(
    'bundle_failed',
    `The packages cannot be bundled: ${lines.join('; ')}`.slice(0, 2_000),
    { cause: error },
  );
}

/** Returns the modules that a failed bundle could not resolve. */
export function unresolvedModulesOf({ cause }: ImageError): ReadonlySet<string> {
  const messages = (cause as Partial<BuildFailure> | undefined)?.errors ?? [];
  return new Set(messages.flatMap(({ text }) => /^Could not resolve "(.+)"/.exec(text)?.[1] ?? []));
}

/**
 * Bundles the modules and all their dependencies from a folder's node_modules as one script. Modules that import
 * one of `unresolvedNames` are included, and fail when they are loaded.
 * @throws ImageError bundle_failed.
 */
export async function bundle(
  folder: string,
  modules: readonly ImageModule[],
  unresolvedNames: ReadonlySet<string> = new Set(),
): Promise<Bundle> {
  const missingBuiltins = new Set<string>();
  const addons = new Set<string>();
  // Imported here, so that processes that only run code need not load it.
  const esbuild = await import('esbuild');
  try {
    const { outputFiles } = await esbuild.build({
      stdin: { contents: entryScriptOf(modules), resolveDir: folder, loader: 'js', sourcefile: 'image.js' },
      absWorkingDir: folder,
      bundle: true,
      format: 'iife',
      platform: 'browser',
      mainFields: ['browser', 'module', 'main'],
      conditions: ['worker', 'browser', 'import', 'default'],
      loader: { '.wasm': 'binary' },
      define: { [`${ENV_EXPRESSION}.NODE_ENV`]: '"production"', [`${ENV_EXPRESSION}.NODE_DEBUG`]: '""' },
      target: 'es2024',
      minify: true,
      keepNames: false,
      legalComments: 'none',
      outfile: join(folder, 'bundle.js'),
      write: false,
      // Ignores configuration files in packages.
      tsconfigRaw: '{}',
      logLevel: 'silent',
      logLimit: 0,
      plugins: [
        builtinsPlugin(missingBuiltins, addons),
        ...(unresolvedNames.size > 0 ? [unresolvedModulesPlugin(unresolvedNames)] : []),
      ],
    });
    const code = PREFIX + ((outputFiles[0]?.text ?? '') as string) + SUFFIX;
    return { code, missingBuiltins: [...missingBuiltins].sort(), addons: [...addons].sort() };
  } catch (error) {
    throw toImageError(error);
  }
}
