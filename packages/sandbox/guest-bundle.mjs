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

/** Modules that exist once in a guest: a lazy module gets them as an argument. */
const shared = {
  name: 'shared',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /\/(?:calls|link|primordials)\.ts$/ }, ({ path }) => ({
      path: path.match(/(\w+)\.ts$/)[1],
      namespace: 'shared',
    }));
    onLoad({ filter: /.*/, namespace: 'shared' }, ({ path }) => ({
      contents: `module.exports = __shared.${path};`,
    }));
  },
};

/** A module with all it imports as the body of one function of `__shared`. */
async function bodyOf(path) {
  const module = await build({
    ...options,
    entryPoints: [path],
    format: 'iife',
    globalName: '__made',
    plugins: [shared],
  });
  return `${module.outputFiles[0].text}return __made;`;
}

/**
 * `lazy:` imports: the module as one function. `onDemand:` imports are left out if `parts` are collected: the guest asks its
 * process for them.
 */
const lazy = (parts) => ({
  name: 'lazy',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^(?:lazy|onDemand):/ }, ({ path, resolveDir }) => {
      const [, kind, name] = /^(\w+):(.*)$/.exec(path);
      return {
        path: resolve(resolveDir, name),
        namespace: kind === 'onDemand' && parts !== undefined ? 'apart' : 'lazy',
      };
    });
    onLoad({ filter: /.*/, namespace: 'lazy' }, async ({ path }) => ({
      contents: `export default function (__shared) {${await bodyOf(path)}}`,
    }));
    onLoad({ filter: /.*/, namespace: 'apart' }, async ({ path }) => {
      const name = basename(path, '.ts');
      parts[name] = await bodyOf(path);
      return {
        contents: `import { part } from './parts.ts'; export default (shared) => part('${name}')(shared);`,
        resolveDir: resolve('src/guest'),
      };
    });
  },
});

/** Returns a guest as one script. With `parts`, modules that are imported on demand go there, by name, and not into the script. */
export async function bundleGuest(entry, { plugins = [], parts, ...more } = {}) {
  const guest = await build({
    ...options,
    ...more,
    entryPoints: [entry],
    format: 'iife',
    plugins: [lazy(parts), ...plugins],
  });
  return guest.outputFiles[0].text;
}

/** Writes a child program as one file, so that its process has to read nothing else but the addon; gives its text. */
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

/** Writes modules that stand in for Node's builtins in what is bundled for a guest later. */
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
