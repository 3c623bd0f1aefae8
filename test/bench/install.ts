import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const MARK = join(HERE, 'node_modules', '.heddle-bench');

/** Ten minutes, because the peers are hundreds of packages. */
const TIMEOUT_MS = 600_000;

/**
 * Installs the peers of the lockfile into this folder, unless they are installed. Returns undefined, or an error message. The
 * table then names the peers that cannot be loaded.
 */
export async function installPeers(say: (text: string) => void): Promise<string | undefined> {
  const wanted = readFileSync(join(HERE, 'package-lock.json'), 'utf8');
  if (existsSync(MARK) && readFileSync(MARK, 'utf8') === mark(wanted)) return undefined;
  say('Installing the peers into test/bench/node_modules; this takes a minute or two.');
  // Install scripts are disabled, except the one that builds or downloads SQLite.
  const failed =
    (await npm('ci', '--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--no-fund')) ??
    (await npm('rebuild', 'better-sqlite3'));
  if (failed === undefined) writeFileSync(MARK, mark(wanted));
  return failed;
}

/** Returns the mark of an installation. Compiled modules work with one major version of Node.js. */
function mark(lockfile: string): string {
  return `${process.versions.modules}\n${lockfile}`;
}

/** Runs npm with this Node.js. Returns an error message, or undefined. */
function npm(...args: string[]): Promise<string | undefined> {
  const cli = process.env['npm_execpath'];
  const [command, first] = cli === undefined ? ['npm', []] : [process.execPath, [cli]];
  // Settings inherited from the outer npm refer to its own folder.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')));
  return new Promise((resolve) => {
    const child = spawn(command, [...first, ...args], {
      cwd: HERE,
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-2000)));
    const late = setTimeout(() => child.kill(), TIMEOUT_MS);
    child.on('error', (error) => resolve(`npm ${args[0]}: ${error.message}`));
    child.on('close', (code) => {
      clearTimeout(late);
      resolve(
        code === 0 ? undefined : `npm ${args[0]} ended with ${code}: ${said.trim().split('\n').at(-1)}`,
      );
    });
  });
}
