import type { BuildContext } from '../../../builder.ts';
import { ImageError, isImageError } from '../../../error.ts';

/** Of everybody who says nothing else. */
export const USUAL_PROXY = 'https://proxy.golang.org';

/** What a module proxy answered. */
export interface ProxyAnswer {
  readonly status: number;
  readonly host: string;
  readonly body: Uint8Array;
}

const ABSENT = new Set([404, 410]);

function asksNext(status: number, after: 'absence' | 'failure'): boolean {
  return status !== 200 && (after === 'failure' || ABSENT.has(status));
}

/**
 * What the module proxies that the build is set to have at a path, which begins with a slash: the first that has it, as Go's
 * own client asks them. Throws ImageError.
 */
export async function askProxies(
  path: string,
  maxBytes: number,
  context: BuildContext,
): Promise<ProxyAnswer> {
  const { proxies = [USUAL_PROXY], nextAfter = 'absence' } = context.registries.go ?? {};
  for (const [index, proxy] of proxies.entries()) {
    const hasNext = index < proxies.length - 1;
    const url = `${proxy.replace(/\/+$/, '')}${path}`;
    try {
      const { status, body } = await context.fetchPage(url, { maxBytes });
      if (!hasNext || !asksNext(status, nextAfter)) return { status, host: new URL(url).host, body };
    } catch (error) {
      context.signal.throwIfAborted();
      if (!hasNext || nextAfter === 'absence' || !isImageError(error)) throw error;
    }
  }
  throw new ImageError(
    'registry_unavailable',
    'The tool is made of modules of Go, and GOPROXY names no module proxy by http or https.',
  );
}
