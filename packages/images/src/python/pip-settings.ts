import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Registries } from '../builder.ts';

interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly home: string;
}

type Settings = Record<string, string>;

const PYPI = { index: 'https://pypi.org/simple/', files: 'https://files.pythonhosted.org/' };

/** Sections of a file of settings that count when packages are fetched; later ones win. */
const SECTIONS = ['global', 'download', 'install'];

/**
 * Where pip finds packages: its index, its further indexes, and the first folder among its links, as environment and files of
 * settings have it. Without settings the index is the public one.
 */
export function readPipSettings({ env, home }: Surroundings): NonNullable<Registries['python']> {
  const settings: Settings = {};
  for (const file of filesOf(env, home)) Object.assign(settings, readFile(file));
  Object.assign(settings, fromEnvironment(env));
  const index = settings['index-url'];
  const extraIndexes = wordsOf(settings['extra-index-url']).filter(isIndex);
  const wheelhouse = wordsOf(settings['find-links']).find(isFolder);
  return {
    ...(index !== undefined && isIndex(index) ? { index } : PYPI),
    ...(extraIndexes.length > 0 && { extraIndexes }),
    ...(wheelhouse !== undefined && { wheelhouse }),
  };
}

/** In pip's order: those of the machine, of the user, and the one that is named. */
function filesOf(env: Surroundings['env'], home: string): string[] {
  const named = env['PIP_CONFIG_FILE'];
  // Pip's way to say that no file counts.
  if (named === '/dev/null') return [];
  const user = join(env['XDG_CONFIG_HOME'] ?? join(home, '.config'), 'pip', 'pip.conf');
  const files = ['/etc/pip.conf', join(home, '.pip', 'pip.conf'), user];
  return named === undefined ? files : [...files, named];
}

function readFile(path: string): Settings {
  let text;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    // A file of settings that is not there or not ours to read says nothing.
    return {};
  }
  const sections = new Map<string, Settings>();
  let section: Settings = {};
  let last = '';
  for (const line of text.split(/\r?\n/)) {
    const [, name] = /^\s*\[([^\]]+)\]/.exec(line) ?? [];
    const [, key, value] = /^([^\s=:#;[][^=:]*?)\s*[=:]\s*(.*)$/.exec(line) ?? [];
    if (name !== undefined) sections.set(name, (section = sections.get(name) ?? {}));
    else if (key !== undefined)
      section[(last = key.toLowerCase().replaceAll('_', '-'))] = (value ?? '').trim();
    // A value may go on in lines that are indented.
    else if (/^\s+[^\s#;]/.test(line)) section[last] = `${section[last] ?? ''} ${line.trim()}`.trim();
  }
  return Object.assign({}, ...SECTIONS.map((name) => sections.get(name))) as Settings;
}

function fromEnvironment(env: Surroundings['env']): Settings {
  const names = ['index-url', 'extra-index-url', 'find-links'];
  const set = names.map(
    (name) => [name, env[`PIP_${name.toUpperCase().replaceAll('-', '_')}`] ?? ''] as const,
  );
  return Object.fromEntries(set.filter(([, value]) => value !== ''));
}

function wordsOf(text = ''): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

function isIndex(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}
