import { isBlockError } from '@heddle/core/blocks';

/**
 * A failure of the stores or of the engine itself, as opposed to a failure of a block. The run stops, and later
 * continues from its journal.
 */
export class InfrastructureError extends Error {
  constructor(cause: unknown) {
    super('The run cannot continue now.', { cause });
  }
}

/** Calls `access`, and wraps its error in an InfrastructureError. */
export function wrapStoreErrors<T>(access: () => T | Promise<T>): T | Promise<T> {
  try {
    const result = access();
    return result instanceof Promise ? result.catch(throwWrapped) : result;
  } catch (error) {
    return throwWrapped(error);
  }
}

/** Wraps errors of reading stored data for a block in an InfrastructureError. A BlockError is not wrapped. */
export function wrapReadErrors<T>(reading: Promise<T>): Promise<T> {
  return reading.catch((error: unknown) => {
    if (isBlockError(error)) throw error;
    return throwWrapped(error);
  });
}

/** Returns the cause of an InfrastructureError, and any other error unchanged. */
export function unwrapInfrastructureError(error: unknown): unknown {
  return error instanceof InfrastructureError ? error.cause : error;
}

function throwWrapped(error: unknown): never {
  throw new InfrastructureError(error);
}
