import { EngineError } from '@heddle/core';
import { DefaultLogger, NativeConnection, Runtime } from '@temporalio/worker';
import type { LogEntry } from '@temporalio/worker';
import type { ServerOptions } from './options.ts';

/** Where a server is when nobody says so. */
export const DEFAULT_ADDRESS = '127.0.0.1:7233';
export const DEFAULT_NAMESPACE = 'default';

/** A connection to the server, whose namespace is there. Throws RUNTIME_UNREACHABLE. */
export async function connect({
  address = DEFAULT_ADDRESS,
  namespace = DEFAULT_NAMESPACE,
  apiKey,
  tls,
}: ServerOptions): Promise<NativeConnection> {
  quieten();
  const connection = await reach(address, { ...(apiKey !== undefined && { apiKey }), ...tlsOf(tls) });
  try {
    await connection.workflowService.describeNamespace({ namespace });
    return connection;
  } catch (error) {
    await connection.close();
    throw unreachable(
      `The namespace "${namespace}" of the Temporal server at ${address} cannot be used`,
      error,
    );
  }
}

async function reach(
  address: string,
  options: Omit<Parameters<typeof NativeConnection.connect>[0] & object, 'address'>,
): Promise<NativeConnection> {
  try {
    return await NativeConnection.connect({ ...options, address });
  } catch (error) {
    throw unreachable(`The Temporal server at ${address} cannot be reached`, error);
  }
}

function unreachable(what: string, error: unknown): EngineError {
  return new EngineError(
    'RUNTIME_UNREACHABLE',
    `${what}: ${reasonOf(error)}. Is it running, and are address, namespace and credentials right?`,
    { cause: error },
  );
}

/** What the server or the network said, in a line. */
export function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // The SDK says what it was about, and the server why not.
  const inner = error.cause instanceof Error ? error.cause : error;
  const text = detailsOf(error) ?? detailsOf(inner) ?? inner.message;
  return (text.split('\n')[0] ?? '').replace(/\.$/, '');
}

/** What the server said, where it was a server that said it. */
function detailsOf(error: Error): string | undefined {
  const { details } = error as { details?: unknown };
  return typeof details === 'string' && details !== '' ? details : undefined;
}

function tlsOf(tls: ServerOptions['tls']) {
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

let quiet = false;

/** The SDK tells of its own life on stderr; warnings are enough. A host that has set up the SDK's runtime keeps it. */
function quieten(): void {
  if (quiet) return;
  quiet = true;
  try {
    // Signals are the host's affair: it stops its workers in its own order.
    Runtime.install({ logger: new DefaultLogger('WARN', say), shutdownSignals: [] });
  } catch {
    // Installed before, by the host.
  }
}

/** What the SDK warns of and is as it should be: workers for activities alone, and runs that have failed. */
const EXPECTED = /^(No workflows registered|Workflow failed)/;

function say({ level, message, meta }: LogEntry): void {
  if (EXPECTED.test(message)) return;
  const more = meta === undefined ? '' : ` ${JSON.stringify(meta, plain)}`;
  process.stderr.write(`temporal: ${level.toLowerCase()}: ${message}${more}\n`);
}

function plain(_: string, value: unknown): unknown {
  if (value instanceof Error) return value.message;
  return typeof value === 'bigint' ? String(value) : value;
}
