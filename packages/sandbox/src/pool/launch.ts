import type { ChildProcess } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { SandboxError } from '../error.ts';
import { confine, type Confinement } from '../isolation/confine.ts';
import type { Program } from '../isolation/program.ts';
import { spawnConfined } from '../isolation/spawn.ts';
import { guardChannel } from './channel.ts';

export type { Program };

/** How processes are started. */
export interface LaunchOptions {
  /** The Node.js to run, 24 or newer. */
  readonly execPath: string;
  /** How the operating system confines them. */
  readonly confinement: () => Confinement;
}

/**
 * Starts a child process that can read only its own files, with an empty environment and no connection except its
 * channel.
 * @throws SandboxError NOT_BUILT if the package was not built, SLOTS_EXHAUSTED if no user id is free.
 */
export function launch(options: LaunchOptions, program: Program): ChildProcess {
  if (!existsSync(program.file)) {
    throw new SandboxError(
      'NOT_BUILT',
      'The child program is missing; run `npm run build` in @heddle/sandbox.',
    );
  }
  const built = { ...program, file: realpathSync(program.file) };
  const child = spawnConfined(confine(options.confinement(), options.execPath, built));
  guardChannel(child);
  // An idle pool does not keep its host alive; jobs hold a reference to the channel.
  child.unref();
  child.channel?.unref();
  (child.stderr as { unref?: () => void } | null)?.unref?.();
  return child;
}
