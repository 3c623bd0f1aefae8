import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** Variables of an environment, given by the caller: only the command line reads its process's own. */
export type Env = Readonly<Record<string, string | undefined>>;

/** How a command ended: what it printed, or why it counts as failed. */
export type Ended = { readonly out: string; readonly problem?: undefined } | { readonly problem: string };

/** How much of what a command printed is kept, in characters: enough for an error with its cause. */
const KEPT = 8192;

/** The executable `name` of the folders in PATH, or undefined. */
export function onPath(name: string, env: Env): string | undefined {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => isAbsolute(folder));
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** True where this process may run `file`. */
export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** What `command` printed once it has ended, or why it failed, with the last line it printed. */
export async function runCommand(
  command: string,
  args: readonly string[],
  options: { env: Env; cwd?: string; timeoutMs: number },
): Promise<Ended> {
  const { timeoutMs, ...rest } = options;
  // Its own AbortSignal, not spawn's `timeout`, so that running out of time is told apart from being killed.
  const signal = AbortSignal.timeout(timeoutMs);
  return new Promise((resolve) => {
    const child = spawn(command, args, { ...rest, signal, stdio: ['ignore', 'pipe', 'pipe'] });
    let out = '';
    const keep = (text: string): void => {
      out = (out + text).slice(-KEPT);
    };
    child.stdout.setEncoding('utf8').on('data', keep);
    child.stderr.setEncoding('utf8').on('data', keep);
    child.on('error', (error) => {
      resolve({
        problem: signal.aborted
          ? `${command} did not end within ${timeoutMs / 1000} s`
          : `${command}: ${error.message}`,
      });
    });
    child.on('close', (code, killedBy) => {
      if (code === 0) resolve({ out });
      else
        resolve({ problem: `${command} ${args[0] ?? ''} ended with ${code ?? killedBy}: ${lastLine(out)}` });
    });
  });
}

/** The last line of `text` that says something. */
export function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.trim() || 'it printed nothing';
}
