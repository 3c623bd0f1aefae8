import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Registries, UserEnvironment } from '../builder.ts';

type Settings = Record<string, string>;

const PYPI = { index: 'https://pypi.org/simple/', filesUrl: 'https://files.pythonhosted.org/' };

/** Sections of pip's configuration files that apply to downloads; later ones take precedence. */
const SECTIONS = ['global', 'download', 'install'];

/**
 * Returns pip's package sources from the environment and configuration files: its index, extra indexes, and the first
 * folder in find-links. Default: the public index.
 */
export function readPipSettings({ env, home }: UserEnvironment): NonNullable<Registries['python']> {
  const settings: Settings = {};
  for (const file of configFilesOf(env, home)) Object.assign(settings, readConfigFile(file));
  Object.assign(settings, readEnvironment(env));
  const index = settings['index-url'];
  const extraIndexes = splitValues(settings['extra-index-url']).filter(isIndexUrl);
  const wheelhouse = splitValues(settings['find-links']).find(isFolder);
  return {
    ...(index !== undefined && isIndexUrl(index) ? { index } : PYPI),
    ...(extraIndexes.length > 0 && { extraIndexes }),
    ...(wheelhouse !== undefined && { wheelhouse }),
  };
}

/** Returns pip's configuration files: of the machine, the user, and PIP_CONFIG_FILE. Later ones take precedence. */
function configFilesOf(env: UserEnvironment['env'], home: string): string[] {
  const configFile = env['PIP_CONFIG_FILE'];
  // With this setting, pip reads no configuration files.
  if (configFile === '/dev/null') return [];
  const userFile = join(env['XDG_CONFIG_HOME'] ?? join(home, '.config'), 'pip', 'pip.conf');
  const files = ['/etc/pip.conf', join(home, '.pip', 'pip.conf'), userFile];
  return configFile === undefined ? files : [...files, configFile];
}

function readConfigFile(path: string): Settings {
  let text;
  try {
    text = readFileSync(path, 'utf8');
  } catch {
    // The file is missing or unreadable.
    return {};
  }
  const sections = new Map<string, Settings>();
  let section: Settings = {};
  let lastKey = '';
  for (const line of text.split(/\r?\n/)) {
    const [, name] = /^\s*\[([^\]]+)\]/.exec(line) ?? [];
    const [, key, value] = /^([^\s=:#;[][^=:]*?)\s*[=:]\s*(.*)$/.exec(line) ?? [];
    if (name !== undefined) sections.set(name, (section = sections.get(name) ?? {}));
    else if (key !== undefined)
      section[(lastKey = key.toLowerCase().replaceAll('_', '-'))] = (value ?? '').trim();
    // Continuation of a value on an indented line.
    else if (/^\s+[^\s#;]/.test(line)) section[lastKey] = `${section[lastKey] ?? ''} ${line.trim()}`.trim();
  }
  return Object.assign({}, ...SECTIONS.map((name) => sections.get(name))) as Settings;
}

function readEnvironment(env: UserEnvironment['env']): Settings {
  const names = ['index-url', 'extra-index-url', 'find-links'];
  const entries = names.map(
    (name) => [name, env[`PIP_${name.toUpperCase().replaceAll('-', '_')}`] ?? ''] as const,
  );
  return Object.fromEntries(entries.filter(([, value]) => value !== ''));
}

function splitValues(text = ''): string[] {
  return text.split(/\s+/).filter((word) => word !== '');
}

function isIndexUrl(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol);
}

function isFolder(path: string): boolean {
  return existsSync(path) && statSync(path).isDirectory();
}
