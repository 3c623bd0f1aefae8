import { BlockError } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import type { JobErrorCode, SandboxFailure } from '@heddle/sandbox';

/** Codes of block failures, by the code of the sandbox. Default: BLOCK_FAILED. */
const BLOCK_CODES: Partial<Record<JobErrorCode, string>> = {
  TIMEOUT_CPU: 'BLOCK_TIMEOUT',
  TIMEOUT_WALL: 'BLOCK_TIMEOUT',
  CANCELLED: 'CANCELLED',
};

/** The name of errors of the sandbox itself, not of the user's code. */
const SANDBOX_ERROR_NAME = 'SandboxError';

/** Codes of the sandbox for an import of a missing module. */
const IMPORT_CODES: ReadonlySet<JobErrorCode> = new Set(['MODULE_NOT_IN_IMAGE', 'BUILTIN_NOT_AVAILABLE']);

/** Messages of errors that code with an import statement throws. */
const IMPORT_MESSAGES: readonly RegExp[] = [
  /^Cannot use import statement/,
  /^require is not defined$/,
  /^Cannot use 'import\.meta'/,
  /^Unexpected token 'export'$/,
  /^Not supported$/,
];

/** Returns the failure of a block whose code failed: error type, authored line and message. */
export function codeFailure(error: SandboxFailure, authoredCode: string, stdout = ''): BlockError {
  if (isImportError(error)) return importFailure(error, authoredCode);
  return new BlockError(BLOCK_CODES[error.code] ?? 'BLOCK_FAILED', describeFailure(error, authoredCode), {
    retryable: error.code !== 'CANCELLED',
    details: detailsOf(error, stdout),
  });
}

/**
 * Returns text such as `TypeError: Line 2: \`return a.b\` - message`, without the type `Error` and without an unknown
 * line.
 */
export function describeFailure(error: SandboxFailure, authoredCode: string): string {
  if (error.name === SANDBOX_ERROR_NAME) return error.message;
  const type = error.name === 'Error' ? '' : `${error.name}: `;
  const line = authoredLine(authoredCode, error.line);
  return `${type}${line === undefined ? '' : `Line ${line.number}: \`${line.text}\` - `}${error.message}`;
}

/** Returns the failing line. If its number is unknown, returns the line of one-line code. */
function authoredLine(
  authoredCode: string,
  line: number | undefined,
): { number: number; text: string } | undefined {
  const lines = authoredCode.trimEnd().split(/\r\n|\r|\n/);
  const number = line ?? (lines.length === 1 ? 1 : undefined);
  const text = number === undefined ? undefined : lines[number - 1]?.trim();
  return number === undefined || text === undefined ? undefined : { number, text };
}

function detailsOf(error: SandboxFailure, stdout: string): JsonObject {
  return {
    reason: error.code,
    name: error.name,
    ...(error.line === undefined ? {} : { line: error.line }),
    ...(error.column === undefined ? {} : { column: error.column }),
    ...(error.stack === undefined ? {} : { stack: error.stack }),
    ...(stdout === '' ? {} : { stdout }),
  };
}

function isImportError(error: SandboxFailure): boolean {
  if (IMPORT_CODES.has(error.code)) return true;
  const isBuiltInError = ['SyntaxError', 'ReferenceError', 'TypeError', 'Error'].includes(error.name);
  return (
    isBuiltInError &&
    error.name !== SANDBOX_ERROR_NAME &&
    IMPORT_MESSAGES.some((pattern) => pattern.test(error.message))
  );
}

function importFailure(error: SandboxFailure, authoredCode: string): BlockError {
  return new BlockError(
    'LANGUAGE_UNSUPPORTED',
    `${describeFailure(error, authoredCode)}. Code can import only the packages of the sandbox that its block names; without packages, use the language and its built-in globals.`,
    { retryable: false, details: detailsOf(error, '') },
  );
}
