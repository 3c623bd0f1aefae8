import { EXIT } from './exit-code.ts';
import type { Io } from './io.ts';
import { safe, styleFor } from './render/style.ts';
import { UsageError } from './usage-error.ts';

/**
 * Says on stderr what went wrong, in the form that was asked for, and gives the exit code.
 *
 * Errors that the caller can act on come as their message and exit with 2: nothing ran. Anything else is a fault of
 * ours; it is shown with its stack and exits with 1.
 */
export function reportError(io: Io, error: unknown, { json }: { json: boolean }): number {
  const known = knownError(error);
  if (!known) {
    const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
    io.stderr.write(`heddle: this is a fault in Heddle, please report it.\n${text}\n`);
    return EXIT.failed;
  }
  if (json) io.stderr.write(`${JSON.stringify({ error: known })}\n`);
  else {
    const style = styleFor(io.stderr);
    io.stderr.write(`${style.red('heddle:')} ${safe(known.message)}\n`);
    if (known.hint !== undefined) io.stderr.write(`${style.cyan('→')} ${safe(known.hint)}\n`);
  }
  return EXIT.invalid;
}

interface KnownError {
  code: string;
  message: string;
  hint?: string;
  details?: unknown;
}

/** What can be done about errors of the engine from the command line. */
const HINTS: { [code: string]: string | undefined } = {
  RUNTIME_UNREACHABLE: 'Start a server with heddle dev, or name another one: --address HOST:PORT',
};

const BRAND = Symbol.for('heddle.error');

/** By its brand, so that a command which fails early loads nothing to say so. */
function knownError(error: unknown): KnownError | undefined {
  if (error instanceof UsageError) {
    return { code: 'USAGE', message: error.message, ...(error.hint !== undefined && { hint: error.hint }) };
  }
  const branded = error as { [BRAND]?: string; code: string; message: string; details?: unknown } | null;
  if (typeof error !== 'object' || branded?.[BRAND] !== 'engine') return undefined;
  const { code, message, details } = branded;
  const hint = HINTS[code];
  return { code, message, ...(hint !== undefined && { hint }), ...(details !== undefined && { details }) };
}
