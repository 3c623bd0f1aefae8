import { cp, rm, writeFile } from 'node:fs/promises';
import { build } from 'esbuild';
import { leanImports } from './lean-imports.mjs';

// Dynamic imports become separate chunks, so that a command loads only what it uses.
await rm('dist/chunks', { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: ['src/index.ts'],
  outdir: 'dist',
  chunkNames: 'chunks/[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  platform: 'node',
  target: 'node24',
  conditions: ['@heddle/source'],
  // Not bundled: native code, entry points of child processes and Temporal's workflow code load files from their own
  // folders, and SDKs of blocks are loaded unchanged.
  external: [
    '@heddle/sandbox',
    '@heddle/images',
    '@heddle/blocks',
    '@heddle/studio',
    'isolated-vm',
    '@heddle/temporal',
  ],
  // Bundled CommonJS modules call require() for Node's own modules.
  banner: {
    js: "import { createRequire as heddleRequire } from 'node:module'; const require = heddleRequire(import.meta.url);",
  },
  sourcemap: true,
  // Comments and long names would be more than half of the code that is read at startup. Lines stay short enough for a
  // stack trace, which the source maps explain.
  minify: true,
  lineLimit: 160,
  plugins: [leanImports],
  metafile: true,
  logLevel: 'warning',
});

// The code that serves the reference page of the HTTP API reads the files of the page from two folders above its own
// file, both in its package and as a chunk of the bundle.
await cp('../api/dist/reference', 'dist/reference', { recursive: true });

// Lists which modules each file of the bundle contains. test/repo/bundle.test.ts checks what the CLI loads at startup.
await writeFile('dist/meta.json', JSON.stringify(metafile));
