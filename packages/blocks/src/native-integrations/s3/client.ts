import { Readable } from 'node:stream';
import type { ReadableStream } from 'node:stream/web';
import { BlockError, getOwn } from '@heddle/core/blocks';
import type { HttpClient } from '@heddle/engine';
import type { S3Client, S3ClientConfig } from '@aws-sdk/client-s3';
import { text } from '../../integrations/integration.ts';
import { permanentError } from '../../openapi/call.ts';
import { plainText } from '../../openapi/wire.ts';
import type { NativeToolCall } from '../native-integration.ts';

const SERVICE = 's3';
const TIMEOUT_MS = 300_000;
/** Time limit for removing the parts of a failed upload. */
const ABORT_TIMEOUT_MS = 5000;

/** Fields of blocks and of agents' tools that select the account. */
export const settings = {
  accessKeyId: text('Id of the access key; default: the access key of the credential'),
  secretAccessKey: text('Secret of the access key'),
  region: text('Region; default us-east-1', { fields: ['region', 'getObjectRegion'] }),
  endpoint: text(
    'Base URL of another S3-compatible service; can be set only together with accessKeyId and secretAccessKey',
  ),
};

/** The base URL and the keys of requests. */
interface Account {
  keys: { accessKeyId: string; secretAccessKey: string; sessionToken?: string };
  region: string;
  /** Undefined: the base URL of AWS for the region. */
  endpoint: string | undefined;
  http: HttpClient;
}

/**
 * Returns the client of a call. All requests of the client are subject to the egress policy. The client reads neither
 * the environment nor files nor a metadata service for keys. Close it with `destroy`.
 *
 * Throws a BlockError: BLOCK_CONFIG_INVALID, CREDENTIAL_UNKNOWN.
 */
export async function clientOf(call: NativeToolCall): Promise<S3Client> {
  const { S3Client } = await import('@aws-sdk/client-s3');
  const { keys, region, endpoint, http } = await accountOf(call);
  return new S3Client({
    region,
    credentials: keys,
    // All options are set, because the library reads missing options from the environment and from files.
    endpoint: endpoint ?? `https://s3.${region}.amazonaws.com`,
    forcePathStyle: endpoint !== undefined,
    ...{ maxAttempts: 1, retryMode: 'standard', defaultsMode: 'standard' },
    ...{ useDualstackEndpoint: false, useFipsEndpoint: false, useArnRegion: false },
    ...{
      disableMultiregionAccessPoints: true,
      disableS3ExpressSessionAuth: true,
      followRegionRedirects: false,
    },
    // The checksum of a body that the HTTP client has decompressed would be wrong.
    ...{ requestChecksumCalculation: 'WHEN_REQUIRED', responseChecksumValidation: 'WHEN_REQUIRED' },
    customUserAgent: 'heddle',
    requestHandler: handlerFor(http, call),
  });
}

async function accountOf(call: NativeToolCall): Promise<Account> {
  const { context, settings: fields } = call;
  const field = (name: string): string => plainText(getOwn(fields, name) ?? '').trim();
  const region = field('region') || 'us-east-1';
  if (!/^[a-z0-9-]{1,40}$/.test(region)) throw configError(`"${region.slice(0, 50)}" is not a region`);
  const service = await context.services.service(SERVICE);
  const [accessKeyId, secretAccessKey, endpoint] = ['accessKeyId', 'secretAccessKey', 'endpoint'].map(field);
  if (accessKeyId && secretAccessKey) {
    const keys = { accessKeyId, secretAccessKey };
    if (!endpoint) return { keys, region, endpoint: service.baseUrl, http: service.http };
    if (!/^https?:\/\/[^/?#@\\]+\/?$/.test(endpoint))
      throw configError('"endpoint" is not a URL such as https://HOST');
    return { keys, region, endpoint, http: await context.services.httpClient() };
  }
  const strayField = Object.entries({ accessKeyId, secretAccessKey, endpoint }).find(([, value]) => value);
  // A stored key must not be sent to a URL that a field names.
  if (strayField) throw configError(`"${strayField[0]}" is set without "accessKeyId" and "secretAccessKey"`);
  const keys = parseKeys(await secretOf(call, service.credential));
  return { keys, region, endpoint: service.baseUrl, http: service.http };
}

async function secretOf(
  { context: { services }, credentialId }: NativeToolCall,
  operatorSecret: string | undefined,
): Promise<string> {
  if (credentialId === undefined && operatorSecret !== undefined) return operatorSecret;
  const query =
    credentialId === undefined ? { provider: SERVICE, type: 'api_key' as const } : { id: credentialId };
  const found = await services.credential(query);
  if (found) return found.secret;
  throw permanentError(
    'CREDENTIAL_UNKNOWN',
    credentialId === undefined
      ? `S3 needs "accessKeyId" and "secretAccessKey", a stored credential in "credential" or for the provider "${SERVICE}", or --credential ${SERVICE}=ACCESS_KEY_ID:SECRET_ACCESS_KEY.`
      : 'S3 is used with a credential that does not exist.',
  );
}

function parseKeys(secret: string): Account['keys'] {
  const [accessKeyId = '', secretAccessKey = '', ...token] = secret.trim().split(':');
  if (accessKeyId === '' || secretAccessKey === '')
    throw configError(
      'the credential is not ACCESS_KEY_ID:SECRET_ACCESS_KEY, with :SESSION_TOKEN for temporary keys',
    );
  return { accessKeyId, secretAccessKey, ...(token.length > 0 && { sessionToken: token.join(':') }) };
}

function configError(reason: string): BlockError {
  return permanentError('BLOCK_CONFIG_INVALID', `S3 cannot be used: ${reason}.`);
}

/** A request that the library passes to its request handler. */
interface SdkRequest {
  method: string;
  protocol: string;
  hostname: string;
  port?: number;
  path: string;
  query?: { [name: string]: string | string[] | null };
  headers: { [name: string]: string };
  body?: unknown;
}

type Handler = NonNullable<S3ClientConfig['requestHandler']>;

/**
 * Returns a request handler for the library that sends its requests with the HTTP client of blocks. Redirects are not
 * followed: they lead to other hosts.
 */
function handlerFor(
  http: HttpClient,
  { context: { signal, remainingMs = TIMEOUT_MS } }: NativeToolCall,
): Handler {
  const handle = async (request: SdkRequest): Promise<unknown> => {
    const { protocol, hostname, port, path, query = {}, headers, method, body } = request;
    const pairs = Object.entries(query).flatMap(([name, value]) =>
      [value].flat().map((item) => `${percentEncode(name)}=${percentEncode(item ?? '')}`),
    );
    const host = port === undefined ? hostname : `${hostname}:${port}`;
    const options = {
      url: `${protocol}//${host}${path}${pairs.length > 0 ? `?${pairs.join('&')}` : ''}`,
      ...{ method, headers, body: bodyOf(body), redirect: 'manual' as const },
      // The parts of a cancelled upload are still removed.
      ...(method === 'DELETE' && 'uploadId' in query
        ? { timeoutMs: ABORT_TIMEOUT_MS }
        : { signal, timeoutMs: Math.max(1, Math.min(TIMEOUT_MS, remainingMs)) }),
    };
    // Only objects become files; responses with lists and errors are read as a whole.
    const toFile = query['x-id'] === 'GetObject';
    const response = await http.open({ ...options, ...(toFile && { toFile }) });
    return {
      response: {
        statusCode: response.status,
        headers: Object.fromEntries(response.headers),
        body: Readable.fromWeb(response.body as ReadableStream<Uint8Array>),
      },
    };
  };
  return {
    handle,
    updateHttpClientConfig: () => undefined,
    httpHandlerConfigs: () => ({}),
  } as unknown as Handler;
}

/** Percent-encodes a value as in RFC 3986, on which signatures are based. */
function percentEncode(value: string): string {
  return encodeURIComponent(value).replaceAll(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}

function bodyOf(body: unknown): string | Uint8Array | null {
  if (typeof body === 'string' || body instanceof Uint8Array) return body;
  if (body === undefined || body === null) return null;
  throw new Error('A request to S3 has a body that is neither text nor bytes.');
}

/** Returns a failure of S3 as SERVICE_FAILED, and a BlockError unchanged. Throws an abort reason or any other error. */
export function failureOf(error: unknown, signal: AbortSignal): BlockError {
  signal.throwIfAborted();
  if (error instanceof BlockError) return error;
  if (!(error instanceof Error)) throw error;
  const { $metadata, name, message } = error as Error & { $metadata?: { httpStatusCode?: number } };
  const status = $metadata?.httpStatusCode;
  if (status !== undefined)
    return serviceError(`S3 refuses the call (${status} ${name}): ${message}`, {
      retryable: status === 408 || status === 429 || status >= 500,
      details: { code: name, status },
      cause: error,
    });
  const reason = 'code' in error ? String(error.code) : '';
  if (!reason.startsWith('EGRESS_')) throw error;
  const retryable = reason !== 'EGRESS_DENIED' && reason !== 'EGRESS_TOO_LARGE';
  return serviceError(`S3 cannot be reached: ${message}`, { retryable, details: { reason }, cause: error });
}

function serviceError(message: string, options: ConstructorParameters<typeof BlockError>[2]): BlockError {
  return new BlockError('SERVICE_FAILED', message.slice(0, 2000).toWellFormed(), options);
}
