import { readFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { existsSync, realpathSync } from 'node:fs';

/** Settings of npm by their names in .npmrc. */
export type NpmSettings = Readonly<Record<string, string>>;

interface Surroundings {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Where a project's .npmrc may be. */
  readonly cwd: string;
  readonly home: string;
}

/** What a build takes of npm's configuration: where registries are and how they are reached. */
const TAKEN =
  /^(?:registry|@[^:]+:registry|\/\/.+|cafile|ca|proxy|https-proxy|noproxy|strict-ssl|fetch-retries|fetch-timeout|maxsockets|node-extra-ca-certs)$/;

function expand(value: string, env: Surroundings['env']): string {
  return value.replace(/\$\{([^}]+)\}/g, (whole, name: string) => env[name] ?? whole);
}

function readFile(file: string, env: Surroundings['env']): Record<string, string> {
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    // A file of settings that is not there or not ours to read says nothing.
    return {};
  }
  const settings: Record<string, string> = {};
  for (const line of text.split(/\r?\n/)) {
    const match = /^\s*([^=;#\s][^=]*?)\s*=\s*(.*?)\s*$/.exec(line);
    if (match === null) continue;
    const value = (match[2] as string).replace(/^(["'])(.*)\1$/, '$2');
    settings[match[1] as string] = expand(value, env);
  }
  return settings;
}

function fromEnv(env: Surroundings['env']): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    const match = /^npm_config_(.+)$/i.exec(name);
    if (match === null || value === undefined || value === '') continue;
    const key = match[1] as string;
    settings[key.startsWith('//') || key.startsWith('@') ? key : key.toLowerCase().replace(/(?!^)_/g, '-')] =
      value;
  }
  const certificates = env['NODE_EXTRA_CA_CERTS'];
  if (certificates !== undefined) settings['node-extra-ca-certs'] = certificates;
  return settings;
}

/** npm's settings about registries, as its own client would find them: environment, project, user. */
export function readNpmSettings({ env, cwd, home }: Surroundings): NpmSettings {
  const own = fromEnv(env);
  const user = own['userconfig'] ?? join(home, '.npmrc');
  const all = { ...readFile(user, env), ...readFile(join(cwd, '.npmrc'), env), ...own };
  return Object.fromEntries(Object.entries(all).filter(([key]) => TAKEN.test(key)));
}

/** The program of npm: beside Node.js, or where the PATH finds it; null where there is none. */
export function findNpm(path: string | undefined, execPath = process.execPath): string | null {
  const folders = [dirname(execPath), ...(path ?? '').split(delimiter).filter((folder) => folder !== '')];
  for (const folder of folders) {
    const beside = join(folder, '..', 'lib', 'node_modules', 'npm', 'bin', 'npm-cli.js');
    if (existsSync(beside)) return realpathSync(beside);
    const windows = join(folder, 'node_modules', 'npm', 'bin', 'npm-cli.js');
    if (existsSync(windows)) return realpathSync(windows);
    const link = join(folder, 'npm');
    if (existsSync(link) && realpathSync(link).endsWith('npm-cli.js')) return realpathSync(link);
  }
  return null;
}
