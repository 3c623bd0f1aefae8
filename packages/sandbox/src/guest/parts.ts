import { send } from './link.ts';
import { construct, NativeError, NativeFunction } from './primordials.ts';

type Part = (shared: object) => Readonly<Record<string, unknown>>;

/**
 * Code of the guest that few contexts use, got from the process: what is in the snapshot is copied into each isolate, and
 * with these modules in it making one takes a sixth longer.
 */
export function part(name: string): Part {
  const body = send('M' + name);
  // The job has ended: nothing that its code still does is heard.
  if (typeof body !== 'string') throw new NativeError('The sandbox has ended this code');
  return construct(NativeFunction, ['__shared', body]) as Part;
}
