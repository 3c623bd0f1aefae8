import { mkdirSync, renameSync, rmSync } from 'node:fs';
import { homedir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import type { Env } from './command.ts';
import { withFileLock } from './lock.ts';

/** Makes the executable inside the empty folder `scratch`: its path, or why there is none. */
export type Maker = (scratch: string) => Promise<{ readonly made: string } | { readonly problem: string }>;

/** The folder in which `version` of Temporal's command is kept, of the user whose environment `env` is. */
export function cacheFolder(env: Env, version: string): string {
  const asked = env['XDG_CACHE_HOME'];
  const base = asked && isAbsolute(asked) ? asked : join(env['HOME'] || homedir(), '.cache');
  return join(base, 'heddle', 'temporal', version);
}

/** Where the executable stands in its cache folder. */
export function cachedBinary(folder: string): string {
  return join(folder, 'temporal');
}

/**
 * Undefined once the executable stands in its cache folder, made by `make`; or why it could not be made.
 *
 * It is moved into place whole, so that nobody ever finds half of it. `isReady` is asked again under the lock:
 * of several processes at once the first one makes it, the others wait and find it made.
 */
export async function fillCache(
  folder: string,
  parts: { isReady: () => Promise<boolean>; make: Maker; onWait: () => void },
): Promise<string | undefined> {
  mkdirSync(folder, { recursive: true });
  return withFileLock(join(folder, 'lock.db'), parts.onWait, async () => {
    if (await parts.isReady()) return undefined;
    const scratch = join(folder, 'making');
    // What a killed process left there is nobody's: only the holder of the lock works in it.
    rmSync(scratch, { recursive: true, force: true });
    mkdirSync(scratch);
    try {
      const result = await parts.make(scratch);
      if ('problem' in result) return result.problem;
      renameSync(result.made, cachedBinary(folder));
      return undefined;
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  });
}
