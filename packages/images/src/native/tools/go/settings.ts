import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Registries, UserEnvironment } from '../../../builder.ts';
import { DEFAULT_PROXY } from './proxies.ts';

/** Returns a value from a file written by `go env -w`. */
function readValue(path: string, name: string): string | undefined {
  let text;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    // The file is missing or unreadable.
    return undefined;
  }
  const line = text.split(/\r?\n/).find((candidate) => candidate.startsWith(`${name}=`));
  return line?.slice(name.length + 1).trim();
}

/**
 * Returns Go's module proxies: those of GOPROXY, from the environment or the file written by `go env -w`. `direct`,
 * `off` and folders are ignored. The default is the public proxy.
 */
export function readGoSettings({ env, home }: UserEnvironment): NonNullable<Registries['go']> {
  const defaultFile = join(env['XDG_CONFIG_HOME'] ?? join(home, '.config'), 'go', 'env');
  const file = env['GOENV'] ?? defaultFile;
  const environmentValue = env['GOPROXY'] ?? '';
  const setting =
    environmentValue || (file === 'off' ? undefined : readValue(file, 'GOPROXY')) || DEFAULT_PROXY;
  const proxies = setting
    .split(/[,|]/)
    .map((entry) => entry.trim())
    .filter((entry) => URL.canParse(entry) && /^https?:$/.test(new URL(entry).protocol));
  return { proxies, ...(setting.includes('|') && { fallbackOn: 'any-error' as const }) };
}
