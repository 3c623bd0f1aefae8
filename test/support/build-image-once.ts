// Builds an image: `node build-image-once.ts FOLDER LOG`. The test starts several of these processes with one folder.
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createImages } from '@heddle/images';

const [folder, logFile] = process.argv.slice(2) as [string, string];
const images = createImages({
  folder,
  builders: {
    javascript: {
      runtime: 'isolate',
      runtimeKeyParts: async () => ({}),
      async resolve() {
        appendFileSync(logFile, 'resolve\n');
        // Long enough for the other processes to request the build.
        await sleep(1_500);
        return { entries: [], data: null };
      },
      async assemble(_lock, _spec, { workFolder }) {
        const path = join(workFolder, 'bundle');
        writeFileSync(path, 'x');
        return { blobs: { 'bundle.js': path }, features: { modules: [] }, warnings: [], tools: {} };
      },
    },
  },
});
const { state, imageId } = await images.build({ language: 'javascript', dependencies: ['alpha'] });
await images.close();
process.stdout.write(`${state} ${imageId}\n`);
