import { EngineError } from '@heddle/core';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import type { LogEntry } from '@temporalio/worker';
import type { ServerOptions } from './options.ts';

export const DEFAULT_ADDRESS = '127.0.0.1:7233';
export const DEFAULT_NAMESPACE = 'default';

/** Returns a connection to a server on which the namespace exists. Throws RUNTIME_UNREACHABLE. */
export async function connect({
  address = DEFAULT_ADDRESS,
  namespace = DEFAULT_NAMESPACE,
  apiKey,
  tls,
}: ServerOptions): Promise<NativeConnection> {
  installRuntime();
  const connection = await connectTo(address, {
    ...(apiKey !== undefined && { apiKey }),
    ...tlsOptionsOf(tls),
  });
  try {
    await connection.workflowService.describeNamespace({ namespace });
    return connection;
  } catch (error) {
    await connection.close();
    throw unreachableError(
      `The namespace "${namespace}" of the Temporal server at ${address} cannot be used`,
      error,
    );
  }
}

async function connectTo(
  address: string,
  options: Omit<Parameters<typeof NativeConnection.connect>[0] & object, 'address'>,
): Promise<NativeConnection> {
  try {
    return await NativeConnection.connect({ ...options, address });
  } catch (error) {
    throw unreachableError(`The Temporal server at ${address} cannot be reached`, error);
  }
}

function unreachableError(problem: string, error: unknown): EngineError {
  return new EngineError(
    'RUNTIME_UNREACHABLE',
    `${problem}: ${reasonOf(error)}. Check that the server is running, and check the address, namespace and credentials.`,
    { cause: error },
  );
}

/** Returns the error of the server or the network, in one line. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // The SDK's own error names the call; its cause has the server's reason.
  const innerError = error.cause instanceof Error ? error.cause : error;
  const text = detailsOf(error) ?? detailsOf(innerError) ?? innerError.message;
  return (text.split('\n')[0] ?? '').replace(/\.$/, '');
}

/** Returns the server's own error text, if the error came from a server. */
function detailsOf(error: Error): string | undefined {
  const { details } = error as { details?: unknown };
  return typeof details === 'string' && details !== '' ? details : undefined;
}

function tlsOptionsOf(tls: ServerOptions['tls']) {
  if (tls === undefined || typeof tls === 'boolean') return tls === undefined ? {} : { tls };
  const { ca, certificate, key, serverName } = tls;
  return {
    tls: {
      ...(ca && { serverRootCACertificate: ca }),
      ...(serverName !== undefined && { serverNameOverride: serverName }),
      ...(certificate && key && { clientCertPair: { crt: certificate, key } }),
    },
  };
}

let isRuntimeInstalled = false;

/** Installs the SDK's runtime with warnings only. A runtime that the host has already installed stays. */
function installRuntime(): void {
  if (isRuntimeInstalled) return;
  isRuntimeInstalled = true;
  try {
    // The host handles signals, because it decides in which order its workers stop.
    Runtime.install({ logger: new DefaultLogger('WARN', log), shutdownSignals: [] });
  } catch {
    // The host has already installed a runtime.
  }
}

/** Warnings of the SDK about normal conditions: workers with activities only, and failed runs. */
const EXPECTED_WARNINGS = /^(No workflows registered|Workflow failed)/;

function log({ level, message, meta }: LogEntry): void {
  if (EXPECTED_WARNINGS.test(message)) return;
  const details = meta === undefined ? '' : ` ${JSON.stringify(meta, toJson)}`;
  process.stderr.write(`temporal: ${level.toLowerCase()}: ${message}${details}\n`);
}

function toJson(_: string, value: unknown): unknown {
  if (value instanceof Error) return value.message;
  return typeof value === 'bigint' ? String(value) : value;
}
