import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const MARK = join(HERE, 'node_modules', '.heddle-bench');

/** Ten minutes: the peers are hundreds of packages. */
const PATIENCE_MS = 600_000;

/**
 * Installs the peers into this folder as its lockfile says, unless that has been done. Undefined: all went well;
 * else what did not. A peer that cannot be loaded then is named in the table.
 */
export async function installPeers(say: (text: string) => void): Promise<string | undefined> {
  const wanted = readFileSync(join(HERE, 'package-lock.json'), 'utf8');
  if (existsSync(MARK) && readFileSync(MARK, 'utf8') === mark(wanted)) return undefined;
  say('Installing the peers into test/bench/node_modules; this takes a minute or two.');
  // Scripts of hundreds of packages are nothing to run here; the one that is needed builds or fetches SQLite.
  const failed =
    (await npm('ci', '--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--no-fund')) ??
    (await npm('rebuild', 'better-sqlite3'));
  if (failed === undefined) writeFileSync(MARK, mark(wanted));
  return failed;
}

/** Compiled modules fit one major version of Node. */
function mark(lockfile: string): string {
  return `${process.versions.modules}\n${lockfile}`;
}

/** Runs npm on this Node; what is wrong, or undefined. */
function npm(...args: string[]): Promise<string | undefined> {
  const cli = process.env['npm_execpath'];
  const [command, first] = cli === undefined ? ['npm', []] : [process.execPath, [cli]];
  // Settings that the outer npm hands down name its own folder.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')));
  return new Promise((resolve) => {
    const child = spawn(command, [...first, ...args], {
      cwd: HERE,
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-2000)));
    const late = setTimeout(() => child.kill(), PATIENCE_MS);
    child.on('error', (error) => resolve(`npm ${args[0]}: ${error.message}`));
    child.on('close', (code) => {
      clearTimeout(late);
      resolve(
        code === 0 ? undefined : `npm ${args[0]} ended with ${code}: ${said.trim().split('\n').at(-1)}`,
      );
    });
  });
}
