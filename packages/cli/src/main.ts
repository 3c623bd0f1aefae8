import { CommanderError } from 'commander';
import { EXIT } from './exit-code.ts';
import { processIo } from './io.ts';
import type { Io } from './io.ts';
import { buildProgram } from './program.ts';
import { escapeIoOutput } from './render/terminal.ts';
import { sanitize, styleFor } from './render/style.ts';
import { UsageError } from './usage-error.ts';

/** Runs the CLI with the arguments `argv` (without node and script). Returns the exit code. Never throws. */
export async function main(argv: readonly string[], streams: Io = processIo()): Promise<number> {
  const io = escapeIoOutput(streams);
  let exitCode: number = EXIT.completed;
  let hasWriteError = false;
  watchWriteErrors(io, () => {
    hasWriteError = true;
    // The error may arrive after the command has ended.
    process.exitCode = EXIT.failed;
  });
  const program = buildProgram(io, (code) => {
    exitCode = code;
  });
  try {
    await program.parseAsync(argv, { from: 'user' });
    return hasWriteError ? EXIT.failed : exitCode;
  } catch (error) {
    // Commander has printed its message. Help and version also arrive here, with exit code 0.
    if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.completed : EXIT.invalid;
    return reportError(io, error, { json: argv.includes('--json') });
  }
}

/** Reports errors of writing to stdout, such as a full disk. A closed pipe (`heddle plan F | head`) is not an error. */
function watchWriteErrors({ stdout, stderr }: Io, onError: () => void): void {
  stdout.on('error', ({ code, message }: NodeJS.ErrnoException) => {
    if (code === 'EPIPE') return;
    onError();
    stderr.write(`heddle: Cannot write the output: ${message}\n`);
  });
  // There is no stream left to report errors on.
  stderr.on('error', () => undefined);
}

/**
 * Prints an error to stderr, as text or JSON, and returns the exit code.
 *
 * An error that the caller can act on is printed as its message, with exit code 2: nothing ran. Anything else is a bug
 * in Heddle; it is printed with its stack, with exit code 1.
 */
function reportError(io: Io, error: unknown, { json }: { json: boolean }): number {
  const errorData = toKnownError(error);
  if (!errorData) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    io.stderr.write(`heddle: This is a bug in Heddle. Please report it.\n${text}\n`);
    return EXIT.failed;
  }
  if (json) io.stderr.write(`${JSON.stringify({ error: errorData })}\n`);
  else {
    const style = styleFor(io.stderr);
    io.stderr.write(`${style.red('heddle:')} ${sanitize(errorData.message)}\n`);
    if (errorData.hint !== undefined) io.stderr.write(`${style.cyan('→')} ${sanitize(errorData.hint)}\n`);
  }
  return EXIT.invalid;
}

interface KnownError {
  code: string;
  message: string;
  hint?: string;
  details?: unknown;
}

/** Hints for errors of the engine. */
const HINTS: { [code: string]: string | undefined } = {
  RUNTIME_UNREACHABLE: 'Start a server with heddle dev, or set another one with --address HOST:PORT.',
};

const BRAND = Symbol.for('heddle.error');

/** Recognizes engine errors by their brand, so that reporting an error does not load the engine. */
function toKnownError(error: unknown): KnownError | undefined {
  if (error instanceof UsageError) {
    return { code: 'USAGE', message: error.message, ...(error.hint !== undefined && { hint: error.hint }) };
  }
  const brandedError = error as { [BRAND]?: string; code: string; message: string; details?: unknown } | null;
  if (typeof error !== 'object' || brandedError?.[BRAND] !== 'engine') return undefined;
  const { code, message, details } = brandedError;
  const hint = HINTS[code];
  return { code, message, ...(hint !== undefined && { hint }), ...(details !== undefined && { details }) };
}
