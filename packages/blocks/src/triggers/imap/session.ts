import { isIP } from 'node:net';
import { isBlockError } from '@heddle/core/blocks';
import type { BlockError } from '@heddle/core/blocks';
import type { ImapFlow } from 'imapflow';
import { feedError } from '../feed.ts';
import type { FeedContext } from '@heddle/engine/triggers';
import { TRUNCATED_BYTES, MAX_MESSAGE_BYTES } from '../mail/message.ts';
import type { ImapConfig } from './fields.ts';

/** The allowed ports if the egress policy names none. */
const DEFAULT_PORTS = [143, 993];
const CONNECT_TIMEOUT_MS = 10_000;
const SOCKET_TIMEOUT_MS = 20_000;
const MAX_LINE_BYTES = 4 * 2 ** 20;
const MAX_RESPONSE_TOKENS = 200_000;
/** Maximum number of addresses of a server that are tried. */
const MAX_ADDRESSES = 3;

type Account = Pick<ImapConfig, 'host' | 'port' | 'tls'> & { user: string; pass: string };

/**
 * Opens a session for one poll, and closes it in any case. When `signal` aborts, the connection is closed, so that a
 * server that does not respond delays no other poll. Throws a BlockError without text from the server.
 */
export async function withSession<Value>(
  config: ImapConfig,
  context: FeedContext,
  use: (client: ImapFlow) => Promise<Value>,
): Promise<Value> {
  const { host, port, tls } = config;
  const { signal } = context;
  const account = {
    ...{ host, port, tls },
    user: await context.resolveTemplate(config.username),
    pass: await context.resolveTemplate(config.secret),
  };
  const addresses = await resolveAddresses(account, context);
  let client: ImapFlow | undefined;
  const aborted = Promise.withResolvers<never>();
  aborted.promise.catch(() => undefined);
  const onAbort = (): void => {
    client?.close();
    aborted.reject(feedError('The mail server did not answer in time.'));
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    const connection = connectToFirstReachable(account, addresses, (next) => (client = next));
    return await Promise.race([connection.then(use), aborted.promise]);
  } catch (error) {
    throw isBlockError(error) ? error : sessionError(error, account);
  } finally {
    signal.removeEventListener('abort', onAbort);
    // Closes without LOGOUT: waiting for the response would delay the poll.
    client?.close();
  }
}

/** Returns the addresses of the server. Throws FEED_FAILED if the egress policy denies them. */
async function resolveAddresses({ host, port }: Account, { http, signal }: FeedContext): Promise<string[]> {
  try {
    const addresses = await http.checkServer({ host, port, ports: DEFAULT_PORTS, signal });
    return addresses.map(({ address }) => address);
  } catch (error) {
    signal.throwIfAborted();
    throw feedError(error instanceof Error ? error.message : 'The mail server cannot be reached.', {
      cause: error,
    });
  }
}

/** Connects to the first address that can be reached. Calls `onClient` with each client before it connects. */
async function connectToFirstReachable(
  account: Account,
  addresses: readonly string[],
  onClient: (client: ImapFlow) => void,
): Promise<ImapFlow> {
  const { ImapFlow: Client } = await import('imapflow');
  const { host, port, tls, user, pass } = account;
  let failure: unknown;
  for (const address of addresses.slice(0, MAX_ADDRESSES)) {
    const client = new Client({
      // Connects only to the checked address: another lookup could return another address.
      host: address,
      port,
      ...(isIP(host) === 0 && { servername: host }),
      secure: tls === 'tls',
      doSTARTTLS: tls === 'starttls',
      auth: { user, pass },
      logger: false,
      disableAutoIdle: true,
      disableCompression: true,
      ...{
        connectionTimeout: CONNECT_TIMEOUT_MS,
        greetingTimeout: CONNECT_TIMEOUT_MS,
        socketTimeout: SOCKET_TIMEOUT_MS,
      },
      ...{ maxLineLength: MAX_LINE_BYTES, maxResponseTokens: MAX_RESPONSE_TOKENS },
      ...{ maxLiteralSize: MAX_MESSAGE_BYTES, maxResponseSize: MAX_MESSAGE_BYTES + TRUNCATED_BYTES },
    });
    // Without a listener, the error would end the process. The promise of the pending command rejects with it, too.
    client.on('error', () => undefined);
    onClient(client);
    try {
      await client.connect();
      return client;
    } catch (error) {
      client.close();
      failure = error;
      if (!isUnreachable(error)) break;
    }
  }
  throw failure;
}

const UNREACHABLE_CODES: ReadonlySet<string> = new Set([
  ...['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'ETIMEDOUT', 'CONNECT_TIMEOUT'],
]);

function isUnreachable(error: unknown): boolean {
  return UNREACHABLE_CODES.has(codeOf(error));
}

function codeOf(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'string' && /^[\w-]{1,40}$/.test(code) ? code : 'unknown failure';
}

/** Error codes of Node.js for invalid certificates and failed handshakes. */
const TLS_CODES = /^(CERT_|DEPTH_ZERO_|ERR_SSL_|ERR_TLS_|SELF_SIGNED_|UNABLE_TO_)/;

/** Returns the error of a session, without the server's text, which may repeat the password. */
function sessionError(error: unknown, { host, port }: Account): BlockError {
  const details = error instanceof Error ? (error as Error & { [name: string]: unknown }) : undefined;
  const server = `The mail server ${host}:${port}`;
  if (details?.['authenticationFailed'] === true)
    return feedError(`${server} refuses the name or the password.`);
  if (details?.['mailboxMissing'] === true || details?.['serverResponseCode'] === 'NONEXISTENT')
    return feedError(`${server} does not have the mailbox.`);
  if (details?.['tlsFailed'] === true) return feedError(`${server} offers no acceptable TLS connection.`);
  if (TLS_CODES.test(codeOf(error)))
    return feedError(`${server} offers no acceptable TLS connection (${codeOf(error)}).`);
  if (isUnreachable(error)) return feedError(`${server} cannot be reached (${codeOf(error)}).`);
  return feedError(`${server} has failed (${codeOf(error)}).`);
}
