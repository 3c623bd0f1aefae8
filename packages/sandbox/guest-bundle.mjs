import { mkdir, writeFile } from 'node:fs/promises';
import { basename, dirname, resolve } from 'node:path';
import { build } from 'esbuild';

const options = {
  bundle: true,
  platform: 'browser',
  target: 'es2024',
  conditions: ['@heddle/source'],
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  write: false,
  logLevel: 'warning',
};

/** Modules that exist once per guest: a lazy module gets them as an argument. */
const sharedPlugin = {
  name: 'shared',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\/(?:calls|channel|primordials)\.ts$/ }, ({ path }) => ({
      path: path.match(/(\w+)\.ts$/)[1],
      namespace: 'shared',
    }));
    onLoad({ filter: /.*/, namespace: 'shared' }, ({ path }) => ({
      contents: `module.exports = __shared.${path};`,
    }));
  },
};

/** Returns a module and all its imports as the body of one function with the parameter `__shared`. */
async function bodyOf(path) {
  const module = await build({
    ...options,
    entryPoints: [path],
    format: 'iife',
    globalName: '__moduleExports',
    plugins: [sharedPlugin],
  });
  return `${module.outputFiles[0].text}return __moduleExports;`;
}

/**
 * Plugin for `lazy:` imports (the module as one function) and `onDemand:` imports. With `chunks`, on-demand modules are
 * collected there and the guest requests them from its process; without, they are treated as lazy.
 */
const createLazyPlugin = (chunks) => ({
  name: 'lazy',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(?:lazy|onDemand):/ }, ({ path, resolveDir }) => {
      const [, kind, name] = /^(\w+):(.*)$/.exec(path);
      return {
        path: resolve(resolveDir, name),
        namespace: kind === 'onDemand' && chunks !== undefined ? 'chunk' : 'lazy',
      };
    });
    onLoad({ filter: /.*/, namespace: 'lazy' }, async ({ path }) => ({
      contents: `export default function (__shared) {${await bodyOf(path)}}`,
    }));
    onLoad({ filter: /.*/, namespace: 'chunk' }, async ({ path }) => {
      const name = basename(path, '.ts');
      chunks[name] = await bodyOf(path);
      return {
        contents: `import { loadChunk } from './chunks.ts'; export default (shared) => loadChunk('${name}')(shared);`,
        resolveDir: resolve('src/guest'),
      };
    });
  },
});

/** Returns a guest as one script. With `chunks`, on-demand modules are stored there by name instead. */
export async function bundleGuest(entry, { plugins = [], chunks, ...buildOptions } = {}) {
  const guest = await build({
    ...options,
    ...buildOptions,
    entryPoints: [entry],
    format: 'iife',
    plugins: [createLazyPlugin(chunks), ...plugins],
  });
  return guest.outputFiles[0].text;
}

/** Writes a child program as one file, so that its process reads no other file except the addon. Returns its text. */
export async function bundleProgram(entry, outfile, define) {
  const program = await build({
    entryPoints: [entry],
    outfile,
    bundle: true,
    format: 'cjs',
    platform: 'node',
    target: 'node24',
    loader: { '.py': 'text' },
    define,
    logLevel: 'warning',
    write: false,
  });
  const { text } = program.outputFiles[0];
  await mkdir(dirname(outfile), { recursive: true });
  await writeFile(outfile, text);
  return text;
}

/** Writes the shims for Node.js builtins that are later included in bundles for a guest. */
export async function bundleShims(entry, outfile) {
  await build({
    ...options,
    entryPoints: [entry],
    outfile,
    format: 'cjs',
    mainFields: ['module', 'main'],
    alias: { stream: 'readable-stream' },
    define: { 'process.env.NODE_DEBUG': '""', 'process.env.NODE_ENV': '"production"', global: 'globalThis' },
    write: true,
  });
}
