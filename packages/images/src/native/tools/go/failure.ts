import type { ProcessTreeEnd } from '@heddle/sandbox/build';
import { ImageError, type ImageErrorCode } from '../../../error.ts';

/**
 * Patterns of error messages of Go, with code and explanation for the author of the specification. The first match
 * applies.
 */
const KNOWN_FAILURES: readonly (readonly [RegExp, ImageErrorCode, string])[] = [
  [/checksum mismatch|SECURITY ERROR/, 'integrity_error', 'a module that it needs does not match its go.sum'],
  [/missing go\.sum entry/, 'integrity_error', 'its go.sum has no checksum for a module'],
  [
    /requires go >= |requires newer Go|invalid go version|unknown toolchain/,
    'unsupported_package',
    'it requires another version of Go than the one used to compile tools',
  ],
  [/no space left on device|disk quota exceeded/, 'provider_error', 'the disk is full'],
];

/** A pattern that matches no line. */
const MATCH_NOTHING = /(?!)/;

/** Returns the first line of Go's output that matches the pattern, or the last message if no line does. */
function lineOf(stderr: string, pattern: RegExp): string {
  const lines = stderr.split('\n').map((line) => line.trim());
  const messages = lines.filter((line) => line !== '' && !/^(?:#|go: downloading )/.test(line));
  return (messages.find((line) => pattern.test(line)) ?? messages.at(-1) ?? 'no output').slice(0, 300);
}

/**
 * Returns the error for a failed run of Go. `requestError` is the last error of a request to a module proxy, if any.
 */
export function createGoError(
  id: string,
  { stderr, stopReason, exitCode }: ProcessTreeEnd,
  {
    requestError,
    minutes,
    memoryMiB,
  }: { requestError: ImageError | undefined; minutes: number; memoryMiB: number },
): ImageError {
  const summary = `The command-line tool ${id} could not be compiled`;
  if (exitCode === null && stopReason === undefined)
    return new ImageError(
      'provider_error',
      `${summary}: Go did not start in its sandbox: ${stderr || 'it ended immediately'}.`,
    );
  if (stopReason !== undefined) {
    const limit =
      stopReason === 'memory' ? `${memoryMiB} MiB of memory` : `${minutes} minutes, or printed too much`;
    return new ImageError('install_failed', `${summary}: it took more than ${limit}.`);
  }
  for (const [pattern, code, explanation] of KNOWN_FAILURES)
    if (pattern.test(stderr))
      return new ImageError(code, `${summary}: ${explanation}. Go said: ${lineOf(stderr, pattern)}`);
  if (requestError !== undefined)
    return new ImageError(requestError.code, `${summary}. ${requestError.message}`, { cause: requestError });
  return new ImageError('install_failed', `${summary}. Go said: ${lineOf(stderr, MATCH_NOTHING)}`);
}
