import type { ChildProcess } from 'node:child_process';
import { FlatMessages } from './flat-messages.ts';

/** Higher than the limits of a job allow. */
const MAX_BYTES = 2 ** 28;

/** Node.js's end of the channel: `onread` gets the bytes that were read, and no argument at the end. */
interface Handle {
  onread: (this: unknown, bytes?: ArrayBuffer) => void;
}

function handleOf(child: ChildProcess): Handle {
  const key = Object.getOwnPropertySymbols(child).find(({ description }) => description === 'kChannelHandle');
  const handle = key === undefined ? undefined : (child as unknown as Record<symbol, Handle>)[key];
  if (typeof handle?.onread !== 'function')
    throw new Error('This Node.js keeps the channels of its processes in another place; use Node.js 24.');
  return handle;
}

/**
 * Protects the host from a compromised process, which may write anything to its channel. An invalid message would throw
 * where nothing can catch it and end the host; Node.js's internal messages would make it accept handles or fail
 * assertions; nested objects can expand to millions. All of these arrive as a single final message `undefined`.
 */
export function guardChannel(child: ChildProcess): void {
  child.removeAllListeners('internalMessage');
  const handle = handleOf(child);
  const messages = new FlatMessages(MAX_BYTES);
  const read = handle.onread;
  handle.onread = function (bytes) {
    try {
      if (bytes === undefined || messages.accepts(new Uint8Array(bytes))) return read.call(this, bytes);
    } catch {
      // Errors here mean that the bytes cannot be decoded; listeners run later.
    }
    handle.onread = function (more) {
      if (more === undefined) read.call(this);
    };
    child.emit('message', undefined);
  };
}
