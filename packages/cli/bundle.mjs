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
  // Native code, its child processes and what Temporal replays find their files beside themselves; SDKs load as they are.
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
  minifySyntax: true,
  // Comments would make up half of what is read at the start; lines stay short enough for a stack trace.
  minifyWhitespace: true,
  lineLimit: 160,
  plugins: [leanImports],
  metafile: true,
  logLevel: 'warning',
});

// The reference page of the HTTP interface finds its files two folders above its chunk, as in its own package.
await cp('../api/dist/reference', 'dist/reference', { recursive: true });

// Lists which modules each file of the bundle contains. test/repo/bundle.test.ts checks what the start of the command line loads.
await writeFile('dist/meta.json', JSON.stringify(metafile));
