import { randomInt } from 'node:crypto';
import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Program } from './pool/launch.ts';

/** The child program; `src` and `dist` are siblings, so the path holds from both. */
const FILE = fileURLToPath(new URL('../dist/child.cjs', import.meta.url));

/** Of all processes, so that the snapshot of one serves the others as it is; random, so that nobody can prepare colliding keys. */
const HASH_SEED = randomInt(1, 2 ** 48 - 1);

/** With the compiler each isolate sets 512 MiB aside for its code, so a limit that a process with many of them stays below limits little. */
const DATA_MIB = { interpreted: 1_536, compiled: 65_536 };

/** The addon file for this Node.js, found without running the package's own loader in the child. */
function addonPath(): string {
  const require = createRequire(import.meta.url);
  const home = dirname(require.resolve('isolated-vm/package.json'));
  const { path } = require('node-gyp-build') as { path: (home: string) => string };
  return realpathSync(path(home));
}

/** The program that runs JavaScript; with `jit` V8 may compile to machine code. */
export function javascriptProgram(jit: boolean): Program {
  const addon = addonPath();
  return {
    file: FILE,
    args: [addon],
    readable: [addon],
    flags: [
      '--no-node-snapshot',
      `--hash-seed=${HASH_SEED}`,
      ...(jit ? [] : ['--jitless']),
      '--max-old-space-size=256',
    ],
    dataMiB: jit ? DATA_MIB.compiled : DATA_MIB.interpreted,
  };
}
