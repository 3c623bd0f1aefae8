/**
 * What the stores, or the engine itself, say against a run: no failure of a block. The run stops where it is and goes
 * on from its journal later.
 */
export class Fault extends Error {
  constructor(cause: unknown) {
    super('The run cannot go on now.', { cause });
  }
}

/** `work` of the stores: what goes wrong in it is a Fault. */
export function storing<T>(work: () => T | Promise<T>): T | Promise<T> {
  try {
    const result = work();
    return result instanceof Promise ? result.catch(rethrow) : result;
  } catch (error) {
    return rethrow(error);
  }
}

/** What a caller is told of `error`: a Fault's cause, anything else as it is. */
export function causeOf(error: unknown): unknown {
  return error instanceof Fault ? error.cause : error;
}

function rethrow(error: unknown): never {
  throw new Fault(error);
}
