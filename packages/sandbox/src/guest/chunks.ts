import { send } from './channel.ts';
import { construct, NativeError, NativeFunction } from './primordials.ts';

type Chunk = (shared: object) => Readonly<Record<string, unknown>>;

/**
 * Loads a chunk: a module of the guest runtime that few contexts use. The process sends its code on request. Chunks are
 * not in the snapshot, because the whole snapshot is copied into each isolate: with them, creating an isolate would
 * take a sixth longer.
 */
export function loadChunk(name: string): Chunk {
  const chunkSource = send('M' + name);
  // The job has ended, and messages of its remaining code are ignored.
  if (typeof chunkSource !== 'string') throw new NativeError('The job has ended');
  return construct(NativeFunction, ['__shared', chunkSource]) as Chunk;
}
