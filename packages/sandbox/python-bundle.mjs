import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { bundleGuest, bundleProgram } from './guest-bundle.mjs';
import { patch } from './python-patches.mjs';

const VERSION = '314.0.7';
const OUT = 'dist/python';

const pyodideFolder = dirname(createRequire(import.meta.url).resolve('pyodide/package.json'));
const { version } = JSON.parse(await readFile(join(pyodideFolder, 'package.json'), 'utf8'));
if (version !== VERSION) {
  throw new Error(
    `python-patches.mjs was written for pyodide ${VERSION}, but this is ${version}: check each patch, run the Python tests, then change VERSION.`,
  );
}

const patchPlugin = {
  name: 'patches',
  setup({ onLoad }) {
    onLoad({ filter: /pyodide\.asm\.mjs$/ }, async ({ path }) => ({
      contents: patch('pyodide.asm.mjs', await readFile(path, 'utf8')),
      loader: 'js',
    }));
  },
};

await mkdir(OUT, { recursive: true });
const { info, packages } = JSON.parse(await readFile(join(pyodideFolder, 'pyodide-lock.json'), 'utf8'));
const guest = await bundleGuest('src/guest/python/main.ts', {
  plugins: [patchPlugin],
  loader: { '.py': 'text' },
  // Imported dynamically, on branches that an isolate never takes.
  external: ['node:*', 'ws'],
  define: {
    'import.meta.url': '"file:///pyodide/pyodide.asm.mjs"',
    PYODIDE_LOCK: JSON.stringify(JSON.stringify({ info, packages: {} })),
  },
});
await writeFile(join(OUT, 'guest.js'), guest);
for (const file of ['pyodide.asm.wasm', 'python_stdlib.zip'])
  await copyFile(join(pyodideFolder, file), join(OUT, file));
await writeFile(
  join(OUT, 'NOTICE'),
  `guest.js contains parts of pyodide ${version}, changed as described in python-patches.mjs of this package. pyodide.asm.wasm and
python_stdlib.zip are files of pyodide; memory.snap is made by running it. The licence of pyodide is the Mozilla Public License
2.0 (https://mozilla.org/MPL/2.0/); its source is https://github.com/pyodide/pyodide at the tag ${version}. Python is under the
licence of the Python Software Foundation (https://docs.python.org/3/license.html).
`,
);
const child = await bundleProgram('src/child/python.ts', 'dist/python-child.cjs', {});

// Makes the memory snapshot of an image, within the limits of a run.
await bundleProgram('src/child/python-image.ts', 'dist/python-image.cjs', {});

// The facts about the distribution that the resolver of images needs: its interpreter, and the digests of its wheels.
const wheels = Object.values(packages).filter(({ file_name: file }) => file.endsWith('.whl'));
const digests = Object.fromEntries(wheels.map(({ file_name: file, sha256 }) => [file, sha256]));
const { python, abi_version: abiVersion, platform } = info;
const distribution = { version, python, abiVersion, platform, wheels: digests };
await writeFile(join(OUT, 'distribution.json'), JSON.stringify(distribution));

// The memory snapshot from which interpreters start, made in an isolate and with the flags of the runtime. It is made
// again only if its inputs changed.
const ivmManifest = createRequire(import.meta.url).resolve('isolated-vm/package.json');
const inputs = [guest, child, version, process.version, await readFile(ivmManifest)];
const stamp = inputs.reduce((hash, input) => hash.update(input), createHash('sha256')).digest('hex');
const stampFile = join(OUT, 'memory.stamp');
if (!existsSync(stampFile) || (await readFile(stampFile, 'utf8')) !== stamp) {
  const newSnapshot = join(OUT, `memory.${process.pid}`);
  const addon = createRequire(import.meta.url)('node-gyp-build').path(dirname(ivmManifest));
  const flags = ['--no-node-snapshot', '--wasm-max-mem-pages=4096'];
  execFileSync(process.execPath, [...flags, 'dist/python-child.cjs', addon, OUT, 'snapshot', newSnapshot], {
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  await rename(newSnapshot, join(OUT, 'memory.snap'));
  await writeFile(stampFile, stamp);
}
