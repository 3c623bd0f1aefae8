import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Registries } from '../../../builder.ts';
import { USUAL_PROXY } from './proxies.ts';

interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
}

/** The value that a file of `go env -w` has for a name. */
function valueIn(path: string, name: string): string | undefined {
  let text;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    // A file of settings that is not there or not ours to read says nothing.
    return undefined;
  }
  const line = text.split(/\r?\n/).find((each) => each.startsWith(`${name}=`));
  return line?.slice(name.length + 1).trim();
}

/**
 * Where Go finds modules: the proxies of GOPROXY, from the environment or the file that `go env -w` writes. `direct` and `off`
 * name no proxy, nor do folders. Without a setting it is the public one.
 */
export function readGoSettings({ env, home }: Surroundings): NonNullable<Registries['go']> {
  const usual = join(env['XDG_CONFIG_HOME'] ?? join(home, '.config'), 'go', 'env');
  const file = env['GOENV'] ?? usual;
  const own = env['GOPROXY'] ?? '';
  const setting = own !== '' ? own : (file === 'off' ? undefined : valueIn(file, 'GOPROXY')) || USUAL_PROXY;
  const proxies = setting
    .split(/[,|]/)
    .map((name) => name.trim())
    .filter((name) => URL.canParse(name) && /^https?:$/.test(new URL(name).protocol));
  return { proxies, ...(setting.includes('|') && { nextAfter: 'failure' as const }) };
}
