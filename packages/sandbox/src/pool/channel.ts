import type { ChildProcess } from 'node:child_process';

/** Far beyond what the limits of a job let through. */
const MOST_BYTES = 2 ** 28;
const HEADER_BYTES = 4;

/** Node's end of the channel: `onread` gets what was read, and nothing at its end. */
interface Handle {
  onread: (this: unknown, bytes?: ArrayBuffer) => void;
}

/** Follows the lengths that stand before the messages of a channel (Node's advanced serialization: 32 bits, big-endian). */
class Lengths {
  #left = 0;
  #length = 0;
  #digits = 0;

  /** Whether no message in the bytes announces that it is longer than any of ours. */
  take(bytes: Uint8Array): boolean {
    for (let at = 0; at < bytes.length;) {
      if (this.#left > 0) {
        const step = Math.min(this.#left, bytes.length - at);
        this.#left -= step;
        at += step;
        continue;
      }
      this.#length = this.#length * 256 + (bytes[at++] as number);
      if (++this.#digits < HEADER_BYTES) continue;
      if (this.#length > MOST_BYTES) return false;
      this.#left = this.#length;
      this.#length = this.#digits = 0;
    }
    return true;
  }
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
 * fail its assertions. Both, and messages of endless length, arrive as one message `undefined`, the last one.
 */
export function guardChannel(child: ChildProcess): void {
  child.removeAllListeners('internalMessage');
  const handle = handleOf(child);
  const lengths = new Lengths();
  const read = handle.onread;
  handle.onread = function (bytes) {
    try {
      if (bytes === undefined || lengths.take(new Uint8Array(bytes))) return read.call(this, bytes);
    } catch {
      // Listeners are called later: what is thrown here is that the bytes cannot be read.
    }
    handle.onread = function (more) {
      if (more === undefined) read.call(this);
    };
    child.emit('message', undefined);
  };
}
