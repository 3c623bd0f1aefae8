import { send } from './channel.ts';
import { construct, NativeError, NativeFunction } from './primordials.ts';

type Chunk = (shared: object) => Readonly<Record<string, unknown>>;

/**
 * Requests guest code that few contexts use from the process, and loads it. It is not in the snapshot, because all of
 * the snapshot is copied into each isolate: with these modules, creating an isolate would take a sixth longer.
 */
export function loadChunk(name: string): Chunk {
  const body = send('M' + name);
  // The job has ended, and messages of its remaining code are ignored.
  if (typeof body !== 'string') throw new NativeError('The sandbox has ended this code');
  return construct(NativeFunction, ['__shared', body]) as Chunk;
}
