import { createHmac, timingSafeEqual } from 'node:crypto';

/** A request of a provider, as received. */
interface SignedRequest {
  headers: Headers;
  body: Uint8Array;
  nowMs: number;
}

/** The reason why a request is not authentic. */
type SignatureProblem =
  | 'SECRET_MISSING'
  | 'SIGNATURE_MISSING'
  | 'SIGNATURE_INVALID'
  | 'TIMESTAMP_INVALID'
  | 'TIMESTAMP_OUT_OF_WINDOW';

/** The content of a header: its signatures, and the time if the header has one. */
interface SignatureHeader {
  signatures: readonly string[];
  timestamp?: string | undefined;
}

/** How a provider signs: HMAC-SHA256 over the bytes of the body, possibly with a prefix. */
interface HmacScheme {
  kind: 'hmac';
  header: string;
  encoding: 'hex' | 'base64';
  /** Returns the signatures in the header, and the time if the header has one. */
  read: (header: string) => SignatureHeader;
  /**
   * The header with the time of the request. Absent: the time is in the header of the signature or in the body, or
   * there is none.
   */
  timestampHeader?: string;
  /** Returns the text that is signed before the body; undefined if a header for it is missing. Default: no text. */
  prefixOf?: (timestamp: string, headers: Headers) => string | undefined;
  /** Returns the key bytes of a secret. Default: its characters. */
  keyOf?: (secret: string) => Uint8Array | string;
  /** Returns the time of the request, in milliseconds; NaN for an invalid time. Absent: the scheme has no time. */
  timeOf?: (timestamp: string | undefined, body: Uint8Array) => number;
  /** Maximum difference, in milliseconds, between the time of the request and now. */
  windowMs?: number;
}

/** How a provider sends a secret token. */
interface TokenScheme {
  kind: 'token';
  header: string;
  /** The authentication scheme in the header `Authorization`, in lower case and with a space: `bearer `. */
  prefix?: string;
}

export type SignatureScheme = HmacScheme | TokenScheme;

const FIVE_MINUTES_MS = 300_000;
const MINUTE_MS = 60_000;
/** Maximum number of signatures of one request that are compared. */
const MAX_SIGNATURES = 20;

/** Returns a time in seconds since 1970 as milliseconds; NaN for an invalid time. */
const unixSecondsToMs = (text: string | undefined): number =>
  /^\d{1,12}$/.test(text ?? '') ? Number(text) * 1000 : NaN;

/** Returns the parts of a list that begin with `prefix`, without it. */
function valuesAfterPrefix(parts: readonly string[], prefix: string): string[] {
  return parts
    .map((part) => part.trim())
    .filter((part) => part.startsWith(prefix))
    .map((part) => part.slice(prefix.length));
}

/** Returns a function that reads a header with a single signature, which follows `prefix`. */
function singleSignatureReader(prefix = ''): HmacScheme['read'] {
  return (header) => ({ signatures: valuesAfterPrefix([header], prefix) });
}

/** The schemes of the providers, by name. */
export const SCHEMES = {
  github: {
    kind: 'hmac',
    header: 'x-hub-signature-256',
    encoding: 'hex',
    read: singleSignatureReader('sha256='),
  },
  slack: {
    kind: 'hmac',
    header: 'x-slack-signature',
    encoding: 'hex',
    read: singleSignatureReader('v0='),
    timestampHeader: 'x-slack-request-timestamp',
    prefixOf: (timestamp) => `v0:${timestamp}:`,
    timeOf: unixSecondsToMs,
    windowMs: FIVE_MINUTES_MS,
  },
  stripe: {
    kind: 'hmac',
    header: 'stripe-signature',
    encoding: 'hex',
    read(header) {
      const parts = header.split(',');
      return { signatures: valuesAfterPrefix(parts, 'v1='), timestamp: valuesAfterPrefix(parts, 't=')[0] };
    },
    prefixOf: (timestamp) => `${timestamp}.`,
    timeOf: unixSecondsToMs,
    windowMs: FIVE_MINUTES_MS,
  },
  linear: {
    kind: 'hmac',
    header: 'linear-signature',
    encoding: 'hex',
    read: singleSignatureReader(),
    timeOf: (_timestamp, body) => timeInBody(body, 'webhookTimestamp'),
    windowMs: MINUTE_MS,
  },
  standard: {
    kind: 'hmac',
    header: 'webhook-signature',
    encoding: 'base64',
    read: (header) => ({ signatures: valuesAfterPrefix(header.split(' '), 'v1,') }),
    timestampHeader: 'webhook-timestamp',
    prefixOf(timestamp, headers) {
      const id = headers.get('webhook-id');
      return id === null ? undefined : `${id}.${timestamp}.`;
    },
    keyOf: (secret) => Buffer.from(secret.replace(/^whsec_/, ''), 'base64'),
    timeOf: unixSecondsToMs,
    windowMs: FIVE_MINUTES_MS,
  },
  circleback: {
    kind: 'hmac',
    header: 'x-signature',
    encoding: 'hex',
    read: singleSignatureReader(),
  },
  telegram: { kind: 'token', header: 'x-telegram-bot-api-secret-token' },
} as const satisfies { [name: string]: SignatureScheme };

/** Returns the scheme of a secret token in `Authorization: Bearer`, or in a header of this name. */
export function tokenScheme(header?: string): SignatureScheme {
  return header === undefined
    ? { kind: 'token', header: 'authorization', prefix: 'bearer ' }
    : { kind: 'token', header: header.toLowerCase() };
}

/**
 * Returns the scheme in which a header of this name has the HMAC-SHA256 of the body, in hexadecimal, with or without
 * `sha256=`.
 */
export function bodyHmacScheme(header: string): SignatureScheme {
  return {
    kind: 'hmac',
    header: header.toLowerCase(),
    encoding: 'hex',
    read: (value) => ({ signatures: [value.trim().replace(/^sha256=/, '')] }),
  };
}

/**
 * Returns why the request is not authentic; undefined if its signature or token is valid for one of the secrets. Tokens
 * and signatures are compared in constant time.
 */
export function signatureProblem(
  scheme: SignatureScheme,
  secrets: readonly string[],
  request: SignedRequest,
): SignatureProblem | undefined {
  const usableSecrets = secrets.filter((secret) => isUsable(scheme, secret.trim()));
  if (usableSecrets.length === 0) return 'SECRET_MISSING';
  const header = request.headers.get(scheme.header);
  if (header === null) return 'SIGNATURE_MISSING';
  if (scheme.kind === 'hmac') return hmacProblem(scheme, usableSecrets, { ...request, header });
  const { prefix = '' } = scheme;
  if (header.slice(0, prefix.length).toLowerCase() !== prefix) return 'SIGNATURE_MISSING';
  const token = header.slice(prefix.length).trim();
  // No early exit: the duration must not reveal which secret has matched.
  const matches = usableSecrets.map((secret) => equalStrings(token, secret.trim()));
  return matches.includes(true) ? undefined : 'SIGNATURE_INVALID';
}

/**
 * Returns false for a secret with an empty key, with which anyone can sign: an empty string, or invalid Base64 where
 * Base64 is needed.
 */
function isUsable(scheme: SignatureScheme, secret: string): boolean {
  const key = scheme.kind === 'hmac' && scheme.keyOf ? scheme.keyOf(secret) : secret;
  return key.length > 0;
}

function hmacProblem(
  scheme: HmacScheme,
  secrets: readonly string[],
  { headers, body, nowMs, header }: SignedRequest & { header: string },
): SignatureProblem | undefined {
  const { signatures, timestamp: headerTimestamp } = scheme.read(header);
  if (signatures.length === 0) return 'SIGNATURE_MISSING';
  const timestamp = scheme.timestampHeader ? headers.get(scheme.timestampHeader) : headerTimestamp;
  const prefix = scheme.prefixOf ? signedPrefix(scheme, timestamp ?? undefined, headers) : '';
  if (prefix === undefined) return 'TIMESTAMP_INVALID';
  const receivedSignatures = signatures
    .slice(0, MAX_SIGNATURES)
    .map((text) => Buffer.from(text, scheme.encoding));
  const matches = secrets.flatMap((secret) => {
    const key = scheme.keyOf?.(secret.trim()) ?? secret.trim();
    const expectedSignature = createHmac('sha256', key).update(prefix).update(body).digest();
    return receivedSignatures.map(
      (signature) =>
        signature.length === expectedSignature.length && timingSafeEqual(signature, expectedSignature),
    );
  });
  if (!matches.includes(true)) return 'SIGNATURE_INVALID';
  const { timeOf, windowMs = 0 } = scheme;
  if (!timeOf) return undefined;
  const timeMs = timeOf(timestamp ?? undefined, body);
  if (Number.isNaN(timeMs)) return 'TIMESTAMP_INVALID';
  return Math.abs(nowMs - timeMs) <= windowMs ? undefined : 'TIMESTAMP_OUT_OF_WINDOW';
}

function signedPrefix(
  { prefixOf }: HmacScheme,
  timestamp: string | undefined,
  headers: Headers,
): string | undefined {
  return timestamp === undefined ? undefined : prefixOf?.(timestamp, headers);
}

/** Compares the hashes, because strings of different lengths cannot be compared in constant time. */
function equalStrings(a: string, b: string): boolean {
  return timingSafeEqual(digest(a), digest(b));
}

const COMPARISON_KEY = 'heddle webhook comparison';

function digest(text: string): Buffer {
  return createHmac('sha256', COMPARISON_KEY).update(text).digest();
}

/** Returns a time of a JSON body, in milliseconds; NaN if it has none. */
function timeInBody(body: Uint8Array, name: string): number {
  try {
    const value: unknown = JSON.parse(Buffer.from(body).toString('utf8'));
    const time =
      typeof value === 'object' && value !== null ? (value as { [key: string]: unknown })[name] : NaN;
    return typeof time === 'number' ? time : NaN;
  } catch {
    return NaN;
  }
}
