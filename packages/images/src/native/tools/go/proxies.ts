import type { BuildContext } from '../../../builder.ts';
import { ImageError, isImageError } from '../../../error.ts';

/** The default module proxy. */
export const DEFAULT_PROXY = 'https://proxy.golang.org';

/** A response of a module proxy. */
export interface ProxyResponse {
  readonly status: number;
  readonly host: string;
  readonly body: Uint8Array;
}

const NOT_FOUND_STATUSES = new Set([404, 410]);

function shouldTryNext(status: number, fallbackOn: 'not-found' | 'any-error'): boolean {
  return status !== 200 && (fallbackOn === 'any-error' || NOT_FOUND_STATUSES.has(status));
}

/**
 * Requests a path, which begins with a slash, from the configured module proxies in order, as Go's own client does.
 * Throws ImageError.
 */
export async function fetchFromProxies(
  path: string,
  maxBytes: number,
  context: BuildContext,
): Promise<ProxyResponse> {
  const { proxies = [DEFAULT_PROXY], fallbackOn = 'not-found' } = context.registries.go ?? {};
  for (const [index, proxy] of proxies.entries()) {
    const hasNext = index < proxies.length - 1;
    const url = `${proxy.replace(/\/+$/, '')}${path}`;
    try {
      const { status, body } = await context.fetchPage(url, { maxBytes });
      if (!hasNext || !shouldTryNext(status, fallbackOn)) return { status, host: new URL(url).host, body };
    } catch (error) {
      context.signal.throwIfAborted();
      if (!hasNext || fallbackOn === 'not-found' || !isImageError(error)) throw error;
    }
  }
  throw new ImageError(
    'registry_unavailable',
    'The tool is compiled from Go modules, but GOPROXY contains no HTTP module proxy.',
  );
}
