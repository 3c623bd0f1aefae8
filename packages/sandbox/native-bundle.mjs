import { copyFile, mkdir } from 'node:fs/promises';
import { bundleProgram } from './guest-bundle.mjs';

const OUT = 'dist/native-boot';

await mkdir(OUT, { recursive: true });
// Programs that start code in a root file system, and one that sends npm's requests to the host.
for (const name of ['boot', 'javascript', 'registry'])
  await bundleProgram(`src/guest/native/${name}.ts`, `${OUT}/${name}.cjs`, {});
await copyFile('src/guest/native/heddle_native.py', `${OUT}/heddle_native.py`);
// Modules shared with Python in the isolate: parsing code, encoding values, describing errors.
for (const name of ['heddle_source', 'heddle_values', 'heddle_failure'])
  await copyFile(`src/python/${name}.py`, `${OUT}/${name}.py`);
