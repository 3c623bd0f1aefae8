import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import type { UserEnvironment } from '../builder.ts';

/** npm settings by their names in .npmrc. */
export type NpmSettings = Readonly<Record<string, string>>;

interface NpmEnvironment extends UserEnvironment {
  /** Folder that may contain a project's .npmrc. */
  readonly cwd: string;
}

/** Settings that a build uses: locations of registries, and how to connect to them. */
const USED_SETTINGS =
  /^(?:registry|@[^:]+:registry|\/\/.+|cafile|ca|proxy|https-proxy|noproxy|strict-ssl|fetch-retries|fetch-timeout|maxsockets|node-extra-ca-certs)$/;

function expandVariables(value: string, env: NpmEnvironment['env']): string {
  return value.replace(/\$\{([^}]+)\}/g, (match, name: string) => env[name] ?? match);
}

function readNpmrc(file: string, env: NpmEnvironment['env']): Record<string, string> {
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    // The file is missing or unreadable.
    return {};
  }
  const settings: Record<string, string> = {};
  for (const line of text.split(/\r?\n/)) {
    const match = /^\s*([^=;#\s][^=]*?)\s*=\s*(.*?)\s*$/.exec(line);
    if (match === null) continue;
    const value = (match[2] as string).replace(/^(["'])(.*)\1$/, '$2');
    settings[match[1] as string] = expandVariables(value, env);
  }
  return settings;
}

function settingsFromEnv(env: NpmEnvironment['env']): Record<string, string> {
  const settings: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    const match = /^npm_config_(.+)$/i.exec(name);
    if (match === null || value === undefined || value === '') continue;
    const key = match[1] as string;
    settings[key.startsWith('//') || key.startsWith('@') ? key : key.toLowerCase().replace(/(?!^)_/g, '-')] =
      value;
  }
  const certificatesFile = env['NODE_EXTRA_CA_CERTS'];
  if (certificatesFile !== undefined) settings['node-extra-ca-certs'] = certificatesFile;
  return settings;
}

/** Returns npm's registry settings as npm finds them: in the environment, then in the files of project and user. */
export function readNpmSettings({ env, cwd, home }: NpmEnvironment): NpmSettings {
  const envSettings = settingsFromEnv(env);
  const userFile = envSettings['userconfig'] ?? join(home, '.npmrc');
  const settings = { ...readNpmrc(userFile, env), ...readNpmrc(join(cwd, '.npmrc'), env), ...envSettings };
  return Object.fromEntries(Object.entries(settings).filter(([key]) => USED_SETTINGS.test(key)));
}

/** Returns the path of npm: next to Node.js, or found in PATH; undefined if there is none. */
export function findNpm(pathVariable: string | undefined, execPath = process.execPath): string | undefined {
  const folders = [
    dirname(execPath),
    ...(pathVariable ?? '').split(delimiter).filter((folder) => folder !== ''),
  ];
  for (const folder of folders) {
    const unixPath = join(folder, '..', 'lib', 'node_modules', 'npm', 'bin', 'npm-cli.js');
    if (existsSync(unixPath)) return realpathSync(unixPath);
    const windowsPath = join(folder, 'node_modules', 'npm', 'bin', 'npm-cli.js');
    if (existsSync(windowsPath)) return realpathSync(windowsPath);
    const link = join(folder, 'npm');
    if (existsSync(link) && realpathSync(link).endsWith('npm-cli.js')) return realpathSync(link);
  }
  return undefined;
}
