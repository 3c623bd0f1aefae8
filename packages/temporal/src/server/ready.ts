import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';

/** What a server has to know before it counts as ready. */
export interface Expected {
  readonly address: string;
  readonly namespace: string;
  /** Names of search attributes. */
  readonly searchAttributes: readonly string[];
}

const POLL_MS = 50;
const CALL_TIMEOUT_MS = 5000;

/** Undefined once the server answers and knows what is expected; the last problem when `signal` ends the wait, or the time. */
export async function untilReady(
  expected: Expected,
  within: { timeoutMs: number; signal: AbortSignal },
): Promise<string | undefined> {
  const endMs = performance.now() + within.timeoutMs;
  for (;;) {
    const leftMs = Math.max(endMs - performance.now(), POLL_MS);
    const problem = await whyNotReady(expected, Math.min(leftMs, CALL_TIMEOUT_MS));
    if (problem === undefined || within.signal.aborted || performance.now() > endMs) return problem;
    await sleep(POLL_MS);
  }
}

/** Undefined where a server at `address` answers and knows what is expected, else why not. */
export async function whyNotReady(
  expected: Expected,
  timeoutMs: number = CALL_TIMEOUT_MS,
): Promise<string | undefined> {
  const { address, namespace, searchAttributes } = expected;
  // The port first: a refused connection makes gRPC wait for seconds before it tries again or gives up.
  if (!(await isOpen(address))) return 'nothing listens there';
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address, connectTimeout: timeoutMs });
    const { workflowService, operatorService } = connection;
    return await connection.withDeadline(Date.now() + timeoutMs, async () => {
      await workflowService.describeNamespace({ namespace });
      if (searchAttributes.length === 0) return undefined;
      const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
      const missing = searchAttributes.filter((name) => !(name in customAttributes));
      return missing.length === 0 ? undefined : `it does not know the search attribute ${missing.join(', ')}`;
    });
  } catch (error) {
    const { message, cause } = error as Error;
    return cause instanceof Error ? `${message}: ${cause.message}` : message;
  } finally {
    await connection?.close();
  }
}

/** True where something listens at `address`. */
export async function isOpen(address: string): Promise<boolean> {
  const { hostname, port } = new URL(`tcp://${address}`);
  return new Promise((resolve) => {
    // An IPv6 address has brackets in an address, and none for a socket.
    const socket = connect({ host: hostname.replaceAll(/^\[|\]$/g, ''), port: Number(port) });
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}
