import { BASE, HEADERS, RequestError } from './client.ts';

const PATH = `${BASE}/api/studio/session`;

/** The state of the session, and the ways to sign in. `ways` is undefined if the host signs people in. */
export interface SessionState {
  signedIn: boolean;
  ways?: ('token' | 'key')[];
}

async function send(method: string, body?: object): Promise<SessionState> {
  const response = await fetch(PATH, {
    method,
    headers: { ...HEADERS, ...(body && { 'Content-Type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  // A host with its own sessions has no such address.
  if (method === 'GET' && response.status === 404) return { signedIn: true };
  const answer = (await response.json()) as { data?: SessionState; error?: { message: string } };
  if (answer.data) return answer.data;
  throw new RequestError(response.status, answer.error?.message ?? `The server answered ${response.status}.`);
}

export const readSession = (): Promise<SessionState> => send('GET');
export const signInWithKey = (apiKey: string): Promise<SessionState> => send('POST', { apiKey });
export const signOut = (): Promise<SessionState> => send('DELETE');

/** Signs in with the token in the address of the page, if there is one, and removes it from the address and the history. */
export async function signInFromAddress(): Promise<string | undefined> {
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
