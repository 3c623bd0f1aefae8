import type { ChildProcess } from 'node:child_process';
import { existsSync, realpathSync } from 'node:fs';
import { SandboxError } from '../error.ts';
import { confine, type Confinement } from '../isolation/confine.ts';
import type { Program } from '../isolation/program.ts';
import { spawnConfined } from '../isolation/spawn.ts';
import { FlatMessageValidator } from './flat-messages.ts';

export type { Program };

/** Options for starting processes. */
export interface LaunchOptions {
  /** The Node.js to run, 24 or newer. */
  readonly execPath: string;
  /** How the operating system confines them. */
  readonly getConfinement: () => Confinement;
}

/**
 * Starts a child process that can read only its own files, with an empty environment and no connection except its
 * IPC channel.
 * @throws SandboxError NOT_BUILT if the package was not built, SLOTS_EXHAUSTED if no user id is free.
 */
export function launch(options: LaunchOptions, program: Program): ChildProcess {
  if (!existsSync(program.file)) {
    throw new SandboxError(
      'NOT_BUILT',
      'The child program is missing; run `npm run build` in @heddle/sandbox.',
    );
  }
  const resolvedProgram = { ...program, file: realpathSync(program.file) };
  const child = spawnConfined(confine(options.getConfinement(), options.execPath, resolvedProgram));
  guardChannel(child);
  // An idle pool does not keep its host alive; jobs hold a reference to the channel.
  child.unref();
  child.channel?.unref();
  (child.stderr as { unref?: () => void } | null)?.unref?.();
  return child;
}

/** Maximum size of a message; the limits of a job allow less. */
const MAX_BYTES = 2 ** 28;

/** Node.js's end of the channel: `onread` gets the bytes that were read, and no argument at the end. */
interface ChannelHandle {
  onread: (this: unknown, bytes?: ArrayBuffer) => void;
}

function handleOf(child: ChildProcess): ChannelHandle {
  const key = Object.getOwnPropertySymbols(child).find(({ description }) => description === 'kChannelHandle');
  const handle = key === undefined ? undefined : (child as unknown as Record<symbol, ChannelHandle>)[key];
  if (typeof handle?.onread !== 'function')
    throw new Error('This version of Node.js does not expose process channels; use Node.js 24.');
  return handle;
}

/**
 * Protects the host from a compromised process, which may write anything to its channel. An invalid message would throw
 * where nothing can catch it and end the host; Node.js's internal messages would make it accept handles or fail
 * assertions; nested objects can expand to millions. All of these arrive as a single final message `undefined`.
 */
function guardChannel(child: ChildProcess): void {
  child.removeAllListeners('internalMessage');
  const handle = handleOf(child);
  const validator = new FlatMessageValidator(MAX_BYTES);
  const originalOnRead = handle.onread;
  handle.onread = function (bytes) {
    try {
      if (bytes === undefined || validator.accepts(new Uint8Array(bytes)))
        return originalOnRead.call(this, bytes);
    } catch {
      // Errors here mean that the bytes cannot be decoded; listeners run later.
    }
    handle.onread = function (laterBytes) {
      if (laterBytes === undefined) originalOnRead.call(this);
    };
    child.emit('message', undefined);
  };
}
