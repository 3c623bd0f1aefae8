import { resolve } from 'node:path';
import { build } from 'esbuild';

const guestOptions = {
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

/** `lazy:` imports: the module with all it imports as one function. */
const lazy = {
  name: 'lazy',
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^lazy:/ }, ({ path, resolveDir }) => ({
      path: resolve(resolveDir, path.slice('lazy:'.length)),
      namespace: 'lazy',
    }));
    onLoad({ filter: /.*/, namespace: 'lazy' }, async ({ path }) => {
      const module = await build({
        ...guestOptions,
        entryPoints: [path],
        format: 'iife',
        globalName: '__made',
        plugins: [shared],
      });
      return { contents: `export default function (__shared) {${module.outputFiles[0].text}return __made;}` };
    });
  },
};

// The guest: everything that is put into the snapshot which contexts of user code start from.
const guest = await build({
  ...guestOptions,
  entryPoints: ['src/guest/main.ts'],
  format: 'iife',
  plugins: [lazy],
});

// The child program: one file, so that the process needs to read nothing else but the addon.
await build({
  entryPoints: ['src/child/main.ts'],
  outfile: 'dist/child.cjs',
  bundle: true,
  format: 'cjs',
  platform: 'node',
  target: 'node24',
  define: { GUEST_SOURCE: JSON.stringify(guest.outputFiles[0].text) },
  logLevel: 'warning',
});
