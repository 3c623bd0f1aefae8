import { BlockError, isBlockError } from '@heddle/core/blocks';
import type { BlockErrorCode } from '@heddle/core/blocks';

/** A value, or a promise of it. */
export type MaybePromise<T> = Promise<T> | T;

/** The dependencies of calls to a port: an interface that the engine's host implements, such as its file storage. */
export interface TenantPortContext {
  /** Returns the tenant of the run; undefined if it has none. */
  tenant: () => Promise<string | undefined>;
  /** Receives errors of the host. */
  onError: (error: unknown) => void;
}

/** The code and message of the error of a block whose call to the host failed. */
interface HostErrorText {
  code: BlockErrorCode;
  message: string;
}

/**
 * Calls a port for the run's tenant. Errors other than a BlockError are reported, and the block fails with a retryable
 * error.
 */
type TenantAccess<Port> = <T>(
  call: (port: Port, tenant: string | undefined) => MaybePromise<T>,
) => Promise<T>;

/** The methods of a port, bound to one tenant: without the parameter for the tenant. */
export type TenantPort<Port> = {
  readonly [Method in keyof Port]: Port[Method] extends (
    tenant: string | undefined,
    ...args: infer Args
  ) => infer Result
    ? (...args: Args) => Promise<Awaited<Result>>
    : never;
};

/** Returns a function that calls the port for the run's tenant. */
export function tenantAccess<Port>(
  port: Port,
  { tenant, onError }: TenantPortContext,
  errorText: HostErrorText,
): TenantAccess<Port> {
  return async (call) => {
    try {
      return await call(port, await tenant());
    } catch (error) {
      throw hostFailure(error, onError, errorText);
    }
  };
}

/** Returns the error of a block for an error of the host. Reports the host's error unless it is a BlockError. */
export function hostFailure(
  error: unknown,
  onError: TenantPortContext['onError'],
  { code, message }: HostErrorText,
): BlockError {
  if (isBlockError(error)) return error;
  onError(error);
  return new BlockError(code, message, { retryable: true, cause: error });
}
