import { fork, type ChildProcess } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { existsSync, realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { SandboxError } from '../error.ts';

/** How processes are started. */
export interface LaunchOptions {
  /** The Node.js to run, 24 or newer. */
  readonly execPath: string;
  /** Whether V8 may compile to machine code in the processes. */
  readonly jit: boolean;
}

/** The child program; `src` and `dist` are siblings, so the path holds from both. */
const PROGRAM = fileURLToPath(new URL('../../dist/child.cjs', import.meta.url));

/** Of all processes, so that the snapshot of one serves the others as it is; random, so that nobody can prepare colliding keys. */
const HASH_SEED = randomInt(1, 2 ** 48 - 1);

/** The addon file for this Node.js, found without running the package's own loader in the child. */
function addonPath(): string {
  const require = createRequire(import.meta.url);
  const home = dirname(require.resolve('isolated-vm/package.json'));
  const { path } = require('node-gyp-build') as { path: (home: string) => string };
  return realpathSync(path(home));
}

/**
 * Starts a child process that can read its two files and nothing else, with an empty environment and no way out but its channel.
 * @throws SandboxError NOT_BUILT when the package was not built.
 */
export function launch(options: LaunchOptions): ChildProcess {
  if (!existsSync(PROGRAM)) {
    throw new SandboxError(
      'NOT_BUILT',
      'The program of the sandbox processes is missing; run `npm run build` in @heddle/sandbox.',
    );
  }
  const program = realpathSync(PROGRAM);
  const addon = addonPath();
  const child = fork(program, [addon], {
    execPath: options.execPath,
    execArgv: [
      '--no-node-snapshot',
      `--hash-seed=${HASH_SEED}`,
      ...(options.jit ? [] : ['--jitless']),
      '--permission',
      '--allow-addons',
      `--allow-fs-read=${program}`,
      `--allow-fs-read=${addon}`,
      '--max-old-space-size=256',
      '--no-warnings',
    ],
    env: {},
    cwd: '/',
    serialization: 'advanced',
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  // An idle pool does not keep its host alive; jobs hold the channel.
  child.unref();
  child.channel?.unref();
  (child.stderr as { unref?: () => void } | null)?.unref?.();
  return child;
}
