import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Authenticator } from '@heddle/api';
import * as z from 'zod';
import type { KeyStore } from '../store/keys.ts';
import { SESSION_SECONDS } from '../store/sessions.ts';
import type { Sessions } from '../store/sessions.ts';

/** The header that pages send with each request. Other sites cannot send it without permission. */
export const SESSION_HEADER = 'x-heddle-studio';

/** The path at which a page signs in and out, below the base path. */
const PATH = '/api/studio/session';
/** Maximum length of the body of a sign-in request. */
const MAX_BODY_BYTES = 4096;
const TOKEN_LIFETIME_MS = 3_600_000;

/** The settings of the session cookie, and the hosts whose pages may use sessions. */
export interface SessionRules {
  /** Values of `host:port` under which browsers reach the server. Undefined: any. */
  hosts: ReadonlySet<string> | undefined;
  /** Name of the cookie. Cookies do not distinguish ports, so servers on one machine need different names. */
  cookieName: string;
  /** The path below which the API is served. */
  basePath?: string;
  /** Whether browsers reach the server over HTTPS. */
  secure?: boolean;
}

export interface SessionOptions extends SessionRules {
  sessions: Sessions;
  keys: Pick<KeyStore, 'find'>;
  /** Absent: users sign in only with an API key. */
  token?: OneTimeToken;
  now?: () => number;
}

/** A token with which one browser can sign in once, within an hour. */
export class OneTimeToken {
  readonly text = randomBytes(32).toString('base64url');
  readonly userId: string;
  readonly #expiresAtMs: number;
  #isUsed = false;

  constructor(userId: string, nowMs: number = Date.now()) {
    this.userId = userId;
    this.#expiresAtMs = nowMs + TOKEN_LIFETIME_MS;
  }

  /**
   * Uses up the token if `candidate` equals it. Returns whether the browser may sign in: false for another string, and
   * if the token was used before or has expired.
   */
  use(candidate: string, nowMs: number = Date.now()): boolean {
    if (!timingSafeEqual(digest(candidate), digest(this.text))) return false;
    const isValid = !this.#isUsed && nowMs < this.#expiresAtMs;
    this.#isUsed = true;
    return isValid;
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}

/** Returns whether a page of this server sent the request, as opposed to a page of another site or port. */
export function isFromOwnPage(headers: Headers, { hosts }: Pick<SessionRules, 'hosts'>): boolean {
  const host = headers.get('host') ?? '';
  // With DNS rebinding, requests of another site reach this server, but their host is the name of that site.
  if (hosts && !hosts.has(host)) return false;
  if (!headers.has(SESSION_HEADER)) return false;
  const origin = headers.get('origin');
  if (origin !== null && URL.parse(origin)?.host !== host) return false;
  const site = headers.get('sec-fetch-site');
  return site === null || site === 'same-origin';
}

/** Returns an authenticator that accepts the session in the cookie of requests from pages of this server. */
export function sessionAuthenticator(sessions: Sessions, rules: SessionRules): Authenticator {
  return {
    async authenticate({ apiKey, bearerToken }, headers) {
      if (apiKey !== undefined || bearerToken !== undefined) return undefined;
      const session = readCookie(headers, rules.cookieName);
      if (session === undefined || !isFromOwnPage(headers, rules)) return undefined;
      return sessions.find(session);
    },
  };
}

function readCookie(headers: Headers, name: string): string | undefined {
  const pairs = (headers.get('cookie') ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1);
}

type Fetch = (request: Request) => Promise<Response>;

const signInSchema = z.union([
  z.strictObject({ token: z.string().max(200) }),
  z.strictObject({ apiKey: z.string().max(200) }),
]);

/** Returns `fetch` with the operations of sessions: sign in with a one-time token or an API key, read, and sign out. */
export function withSessions(fetch: Fetch, options: SessionOptions): Fetch {
  const path = (options.basePath ?? '') + PATH;
  return async (request) => {
    if (new URL(request.url).pathname !== path) return fetch(request);
    if (!isFromOwnPage(request.headers, options))
      return jsonResponse(403, errorBody('FORBIDDEN', 'Sessions are only for the pages of this server.'));
    switch (request.method) {
      case 'GET':
        return jsonResponse(200, { data: await stateOf(request.headers, options) });
      case 'POST':
        return signIn(request, options);
      case 'DELETE':
        return jsonResponse(200, { data: { signedIn: false } }, sessionCookie('', 0, options));
      default:
        return jsonResponse(405, errorBody('METHOD_NOT_ALLOWED', 'Method not allowed'));
    }
  };
}

async function stateOf(headers: Headers, { sessions, cookieName, token }: SessionOptions): Promise<object> {
  const session = readCookie(headers, cookieName);
  const principal = session === undefined ? undefined : await sessions.find(session);
  return { signedIn: principal !== undefined, ways: token ? ['token', 'key'] : ['key'] };
}

async function signIn(request: Request, options: SessionOptions): Promise<Response> {
  const { sessions, keys, token, now = Date.now } = options;
  const body = signInSchema.safeParse(await readJson(request)).data;
  if (!body)
    return jsonResponse(400, errorBody('BAD_REQUEST', 'Send {"token": …} or {"apiKey": …} as JSON.'));
  if ('token' in body) {
    if (!token?.use(body.token, now()))
      return jsonResponse(
        401,
        errorBody('UNAUTHORIZED', 'The sign-in link was used before or has expired. Use an API key.'),
      );
    return sessionResponse(sessions.create({ userId: token.userId }), options);
  }
  const key = await keys.find(body.apiKey, now());
  if (!key) return jsonResponse(401, errorBody('UNAUTHORIZED', 'Invalid API key'));
  return sessionResponse(sessions.create({ keyId: key.id }), options);
}

function sessionResponse(session: string, options: SessionOptions): Response {
  return jsonResponse(200, { data: { signedIn: true } }, sessionCookie(session, SESSION_SECONDS, options));
}

function sessionCookie(
  value: string,
  seconds: number,
  { cookieName, basePath = '', secure }: SessionOptions,
): string {
  // The path keeps the cookie out of requests for pages and files, and away from other servers on this machine.
  const path = `${basePath}/api`;
  return `${cookieName}=${value}; Path=${path}; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
}

/** Returns the JSON of the body; undefined if it is not JSON, of another type, or too long. */
async function readJson(request: Request): Promise<unknown> {
  if (!/^application\/json\b/i.test(request.headers.get('content-type') ?? '')) return undefined;
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of request.body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (text.length > MAX_BODY_BYTES) return undefined;
  }
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}

function errorBody(code: string, message: string): object {
  return { error: { code, message } };
}

function jsonResponse(status: number, body: object, cookie?: string): Response {
  const headers = {
    'Content-Type': 'application/json; charset=utf-8',
    'Cache-Control': 'private, no-store',
    'X-Content-Type-Options': 'nosniff',
    ...(cookie !== undefined && { 'Set-Cookie': cookie }),
  };
  return new Response(JSON.stringify(body), { status, headers });
}
