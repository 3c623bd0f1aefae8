import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const BENCH_FOLDER = fileURLToPath(new URL('.', import.meta.url));
const MARKER_FILE = join(BENCH_FOLDER, 'node_modules', '.heddle-bench');

/** Ten minutes, because the peers are hundreds of packages. */
const TIMEOUT_MS = 600_000;

/**
 * Installs the peers (the packages that Heddle is compared with) from the lockfile into this folder, unless they are
 * installed. Returns an error message if the installation fails. The table then names the peers that cannot be loaded.
 */
export async function installPeers(log: (text: string) => void): Promise<string | undefined> {
  const lockfile = readFileSync(join(BENCH_FOLDER, 'package-lock.json'), 'utf8');
  if (existsSync(MARKER_FILE) && readFileSync(MARKER_FILE, 'utf8') === markerOf(lockfile)) return undefined;
  log('Installing the peers into test/bench/node_modules; this takes a minute or two.');
  // Install scripts are disabled, except the one that builds or downloads SQLite.
  const errorMessage =
    (await runNpm('ci', '--ignore-scripts', '--legacy-peer-deps', '--no-audit', '--no-fund')) ??
    (await runNpm('rebuild', 'better-sqlite3'));
  if (errorMessage === undefined) writeFileSync(MARKER_FILE, markerOf(lockfile));
  return errorMessage;
}

/**
 * Returns the content of the marker file. It contains the ABI version of Node.js, because native modules work only with
 * the version for which they were built.
 */
function markerOf(lockfile: string): string {
  return `${process.versions.modules}\n${lockfile}`;
}

/** Runs npm with this Node.js. Returns an error message, or undefined on success. */
function runNpm(...args: string[]): Promise<string | undefined> {
  const npmPath = process.env['npm_execpath'];
  const [command, prefix] = npmPath === undefined ? ['npm', []] : [process.execPath, [npmPath]];
  // Settings inherited from the outer npm refer to its own folder.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('npm_')));
  return new Promise((resolve) => {
    const child = spawn(command, [...prefix, ...args], {
      cwd: BENCH_FOLDER,
      env,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr = (stderr + text).slice(-2000)));
    const timer = setTimeout(() => child.kill(), TIMEOUT_MS);
    child.on('error', (error) => resolve(`npm ${args[0]}: ${error.message}`));
    child.on('close', (code) => {
      clearTimeout(timer);
      resolve(
        code === 0
          ? undefined
          : `npm ${args[0]} exited with code ${code}: ${stderr.trim().split('\n').at(-1)}`,
      );
    });
  });
}
