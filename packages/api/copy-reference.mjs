import { copyFile, mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

// Copied at build time: as a dependency, it would install another package that reports installations to a third party.
const from = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
const to = 'dist/reference';
await mkdir(to, { recursive: true });
for (const file of [
  'swagger-ui-bundle.js',
  'swagger-ui-bundle.js.LICENSE.txt',
  'swagger-ui.css',
  'LICENSE',
  'NOTICE',
]) {
  await copyFile(join(from, file), join(to, file));
}
