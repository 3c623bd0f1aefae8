import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, isAbsolute, join } from 'node:path';

/** Environment variables. The caller passes them, because only the CLI reads those of the process. */
export type Env = Readonly<Record<string, string | undefined>>;

/** Output of a command, or the reason for its failure. */
export type CommandResult =
  | { readonly output: string; readonly problem?: undefined }
  | { readonly problem: string };

/** Maximum number of characters of the output that are stored, from its end: enough for an error with its cause. */
const MAX_OUTPUT_LENGTH = 8192;

/** Returns the path of the executable `name` in the folders of PATH, or undefined. */
export function findOnPath(name: string, env: Env): string | undefined {
  const folders = (env['PATH'] ?? '').split(delimiter).filter((folder) => isAbsolute(folder));
  return folders.map((folder) => join(folder, name)).find(isExecutable);
}

/** True if this process may execute `file`. */
export function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Runs a command. Returns its output, or the reason for its failure with the last line of its output. */
export async function runCommand(
  command: string,
  args: readonly string[],
  options: { env: Env; cwd?: string; timeoutMs: number },
): Promise<CommandResult> {
  const { timeoutMs, ...spawnOptions } = options;
  // Unlike spawn's `timeout`, this signal distinguishes a timeout from another kill.
  const signal = AbortSignal.timeout(timeoutMs);
  return new Promise((resolve) => {
    const child = spawn(command, args, { ...spawnOptions, signal, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const append = (text: string): void => {
      output = (output + text).slice(-MAX_OUTPUT_LENGTH);
    };
    child.stdout.setEncoding('utf8').on('data', append);
    child.stderr.setEncoding('utf8').on('data', append);
    child.on('error', (error) => {
      resolve({
        problem: signal.aborted
          ? `${command} did not end within ${timeoutMs / 1000} s`
          : `${command}: ${error.message}`,
      });
    });
    child.on('close', (code, exitSignal) => {
      if (code === 0) resolve({ output });
      else
        resolve({
          problem: `${command} ${args[0] ?? ''} failed with ${code ?? exitSignal}: ${lastLine(output)}`,
        });
    });
  });
}

/** Returns the last line of `text` that is not blank. */
export function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.trim() || '(no output)';
}
