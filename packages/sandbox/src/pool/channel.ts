import type { ChildProcess } from 'node:child_process';
import { FlatMessages } from './flat-messages.ts';

/** Far beyond what the limits of a job let through. */
const MOST_BYTES = 2 ** 28;

/** Node's end of the channel: `onread` gets what was read, and nothing at its end. */
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
 * Makes a channel safe from a process that a guest took over, which may write anything to it. What is no message would be
 * thrown where nobody can catch it, and end the host; messages of Node's own kind would have it take files and sockets, or
 * fail its assertions; and what is no flat object can be millions of them. All of that arrives as one message `undefined`, the last one.
 */
export function guardChannel(child: ChildProcess): void {
  child.removeAllListeners('internalMessage');
  const handle = handleOf(child);
  const messages = new FlatMessages(MOST_BYTES);
  const read = handle.onread;
  handle.onread = function (bytes) {
    try {
      if (bytes === undefined || messages.take(new Uint8Array(bytes))) return read.call(this, bytes);
    } catch {
      // Listeners are called later: what is thrown here is that the bytes cannot be read.
    }
    handle.onread = function (more) {
      if (more === undefined) read.call(this);
    };
    child.emit('message', undefined);
  };
}
