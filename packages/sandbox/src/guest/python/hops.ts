import { define, NativePromise } from '../primordials.ts';

/** Turns of the Python event loop in one entry, after which it goes on behind what waits in the process. */
const HOPS_PER_ENTRY = 64;

let hops = 0;

/** Begins an entry: its turns are counted anew. */
export function resetHops(): void {
  hops = 0;
}

/**
 * The channel that Pyodide's event loop takes its turns by. They stay in the entry, since a turn by way of the process
 * costs a millisecond; not all of them, so that timers and answers come in between.
 */
class Channel {
  readonly port1: { onmessage: (() => void) | null } = { onmessage: null };
  readonly port2 = {
    postMessage: (): void => {
      const turn = (): void => this.port1.onmessage?.();
      if (++hops <= HOPS_PER_ENTRY) void NativePromise.resolve().then(turn);
      else setTimeout(turn, 0);
    },
  };
}

/** Installs MessageChannel, whose messages are turns and have no content. */
export function installHops(): void {
  define(globalThis, 'MessageChannel', Channel);
}
