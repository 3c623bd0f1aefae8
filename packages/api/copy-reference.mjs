import { copyFile, mkdir } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';

// Copies Swagger UI at build time. As a dependency of the published package it would also install a package that
// reports installations to a third party.
const sourceFolder = dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));
const targetFolder = 'dist/reference';
await mkdir(targetFolder, { recursive: true });
for (const file of [
  'swagger-ui-bundle.js',
  'swagger-ui-bundle.js.LICENSE.txt',
  'swagger-ui.css',
  'LICENSE',
  'NOTICE',
]) {
  await copyFile(join(sourceFolder, file), join(targetFolder, file));
}
