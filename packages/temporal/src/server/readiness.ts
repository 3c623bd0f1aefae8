import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';

/** What a ready server must have, and its address. */
export interface ExpectedServer {
  readonly address: string;
  readonly namespace: string;
  /** Names of the search attributes that must be registered. */
  readonly searchAttributes: readonly string[];
}

const POLL_INTERVAL_MS = 50;
const CALL_TIMEOUT_MS = 5000;

/** Waits until the server is ready. Returns the last problem after the timeout or an abort, else undefined. */
export async function waitUntilReady(
  expected: ExpectedServer,
  options: { timeoutMs: number; signal: AbortSignal },
): Promise<string | undefined> {
  const deadlineMs = performance.now() + options.timeoutMs;
  for (;;) {
    const remainingMs = Math.max(deadlineMs - performance.now(), POLL_INTERVAL_MS);
    const problem = await findReadinessProblem(expected, Math.min(remainingMs, CALL_TIMEOUT_MS));
    if (problem === undefined || options.signal.aborted || performance.now() > deadlineMs) return problem;
    await sleep(POLL_INTERVAL_MS);
  }
}

/** Returns undefined if the server at `address` is ready, else the reason why it is not. */
export async function findReadinessProblem(
  expected: ExpectedServer,
  timeoutMs: number = CALL_TIMEOUT_MS,
): Promise<string | undefined> {
  const { address, namespace, searchAttributes } = expected;
  // The port is checked first, because gRPC takes seconds to retry or fail on a closed port.
  if (!(await isListening(address))) return 'nothing listens there';
  let connection: Connection | undefined;
  try {
    connection = await Connection.connect({ address, connectTimeout: timeoutMs });
    const { workflowService, operatorService } = connection;
    return await connection.withDeadline(Date.now() + timeoutMs, async () => {
      await workflowService.describeNamespace({ namespace });
      if (searchAttributes.length === 0) return undefined;
      const { customAttributes } = await operatorService.listSearchAttributes({ namespace });
      const missingAttributes = searchAttributes.filter((name) => !(name in customAttributes));
      return missingAttributes.length === 0
        ? undefined
        : `it does not know the search attribute ${missingAttributes.join(', ')}`;
    });
  } catch (error) {
    const { message, cause } = error as Error;
    return cause instanceof Error ? `${message}: ${cause.message}` : message;
  } finally {
    await connection?.close();
  }
}

/** True if something listens on `address`. */
export async function isListening(address: string): Promise<boolean> {
  const { hostname, port } = new URL(`tcp://${address}`);
  return new Promise((resolve) => {
    // A URL has brackets around an IPv6 address; the address of a socket has none.
    const socket = connect({ host: hostname.replaceAll(/^\[|\]$/g, ''), port: Number(port) });
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}
