import { build } from 'esbuild';

// The guest: everything that is put into the snapshot which contexts of user code start from.
const guest = await build({
  entryPoints: ['src/guest/main.ts'],
  bundle: true,
  format: 'iife',
  platform: 'browser',
  target: 'es2024',
  conditions: ['@heddle/source'],
  minifySyntax: true,
  minifyWhitespace: true,
  legalComments: 'none',
  write: false,
  logLevel: 'warning',
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
