import { BlockError } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import type { SandboxErrorCode, SandboxFailure } from '@heddle/sandbox';

const CODES: Partial<Record<SandboxErrorCode, string>> = {
  TIMEOUT_CPU: 'BLOCK_TIMEOUT',
  TIMEOUT_WALL: 'BLOCK_TIMEOUT',
  CANCELLED: 'CANCELLED',
};

/** The name of errors of the sandbox itself, not of the user's code. */
const HOST_NAME = 'SandboxError';

/** The code imports a missing module. */
const MODULES: ReadonlySet<SandboxErrorCode> = new Set(['MODULE_NOT_IN_IMAGE', 'BUILTIN_NOT_AVAILABLE']);

const IMPORTS: readonly RegExp[] = [
  /^Cannot use import statement/,
  /^require is not defined$/,
  /^Cannot use 'import\.meta'/,
  /^Unexpected token 'export'$/,
  /^Not supported$/,
];

/** Returns the failure of a block whose code failed: error type, authored line and message. */
export function codeFailure(error: SandboxFailure, authored: string, stdout = ''): BlockError {
  if (isImport(error)) return importFailure(error, authored);
  return new BlockError(CODES[error.code] ?? 'BLOCK_FAILED', describeFailure(error, authored), {
    retryable: error.code !== 'CANCELLED',
    details: detailsOf(error, stdout),
  });
}

/**
 * Returns text such as `TypeError: Line 2: \`return a.b\` - message`, without the type `Error` and without an unknown
 * line.
 */
export function describeFailure(error: SandboxFailure, authored: string): string {
  if (error.name === HOST_NAME) return error.message;
  const type = error.name === 'Error' ? '' : `${error.name}: `;
  const line = authoredLine(authored, error.line);
  return `${type}${line === undefined ? '' : `Line ${line.number}: \`${line.text}\` - `}${error.message}`;
}

/** Returns the failing line; if the code has one line, returns that line. */
function authoredLine(
  authored: string,
  line: number | undefined,
): { number: number; text: string } | undefined {
  const lines = authored.trimEnd().split(/\r\n|\r|\n/);
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

function isImport(error: SandboxFailure): boolean {
  if (MODULES.has(error.code)) return true;
  const byEngine = ['SyntaxError', 'ReferenceError', 'TypeError', 'Error'].includes(error.name);
  return byEngine && error.name !== HOST_NAME && IMPORTS.some((pattern) => pattern.test(error.message));
}

function importFailure(error: SandboxFailure, authored: string): BlockError {
  return new BlockError(
    'LANGUAGE_UNSUPPORTED',
    `${describeFailure(error, authored)}. Packages are those of the sandbox that a block names; without one, use what the language and the built-in globals offer.`,
    { retryable: false, details: detailsOf(error, '') },
  );
}
