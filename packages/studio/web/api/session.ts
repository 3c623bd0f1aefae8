import { BASE_PATH, HEADERS, RequestError } from './client.ts';

const SESSION_PATH = `${BASE_PATH}/api/studio/session`;

/** The state of the session. `ways`: the ways to sign in; undefined if the host signs users in. */
export interface SessionState {
  signedIn: boolean;
  ways?: ('token' | 'key')[];
}

async function send(method: string, body?: object): Promise<SessionState> {
  const response = await fetch(SESSION_PATH, {
    method,
    headers: { ...HEADERS, ...(body && { 'Content-Type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  // A host with its own sessions does not serve this path.
  if (method === 'GET' && response.status === 404) return { signedIn: true };
  const result = (await response.json()) as { data?: SessionState; error?: { message: string } };
  if (result.data) return result.data;
  throw new RequestError(
    response.status,
    result.error?.message ?? `The server responded with the status ${response.status}.`,
  );
}

export const readSession = (): Promise<SessionState> => send('GET');
export const signInWithKey = (apiKey: string): Promise<SessionState> => send('POST', { apiKey });
export const signOut = (): Promise<SessionState> => send('DELETE');

/**
 * Signs in with the token in the fragment of the URL, if there is one, and removes it from the URL and the history.
 * Returns the error message if the token is refused.
 */
export async function signInWithUrlToken(): Promise<string | undefined> {
  const token = /^#token=([\w-]+)$/.exec(location.hash)?.[1];
  if (token === undefined) return undefined;
  history.replaceState(null, '', location.pathname + location.search);
  try {
    await send('POST', { token });
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
