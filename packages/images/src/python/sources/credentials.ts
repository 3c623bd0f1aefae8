import type { BuildContext } from '../../builder.ts';

/**
 * Returns the context with the credentials of the configured indexes, which are sent with every request to their own
 * origin.
 */
export function withCredentials(context: BuildContext): BuildContext {
  const { index, extraIndexes = [], pyodide } = context.registries.python ?? {};
  const authorizationByOrigin = new Map<string, string>();
  for (const url of [...extraIndexes, index, pyodide]) {
    const { origin, username, password } = new URL(url ?? 'https://none.invalid');
    const credentials = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
    if (username !== '')
      authorizationByOrigin.set(origin, `Basic ${Buffer.from(credentials).toString('base64')}`);
  }
  const headersFor = (url: string): { readonly [name: string]: string } => {
    const authorization = authorizationByOrigin.get(new URL(url).origin);
    return authorization === undefined ? {} : { authorization };
  };
  return {
    ...context,
    fetchPage: (url, options) =>
      context.fetchPage(url, { ...options, headers: { ...headersFor(url), ...options.headers } }),
    fetchVerified: (url, digest, options) =>
      context.fetchVerified(url, digest, { ...options, headers: { ...headersFor(url), ...options.headers } }),
  };
}
