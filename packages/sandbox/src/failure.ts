import { createFailure, type JobErrorCode, type SandboxFailure } from './outcome.ts';
import type { EndCode } from './protocol.ts';
import { USER_FILE, userPosition, type UnitKind } from './protocol.ts';

const STACK_FRAME = new RegExp(
  `^ *at (?:(.*?) \\()?${USER_FILE.replace('.js', '\\.(?:js|py)')}:(\\d+):(\\d+)\\)?$`,
);
const CODE_BY_PHASE: Readonly<Record<string, JobErrorCode>> = {
  compile: 'SYNTAX_ERROR',
  run: 'USER_ERROR',
  result: 'RESULT_NOT_SERIALIZABLE',
  memory: 'OUT_OF_MEMORY',
  module: 'MODULE_NOT_IN_IMAGE',
  builtin: 'BUILTIN_NOT_AVAILABLE',
};
const CODE_BY_END: Readonly<Partial<Record<EndCode, JobErrorCode>>> = {
  RESULT_TOO_LARGE: 'RESULT_TOO_LARGE',
  TIMEOUT_CPU: 'TIMEOUT_CPU',
  TIMEOUT_WALL: 'TIMEOUT_WALL',
  OUT_OF_MEMORY: 'OUT_OF_MEMORY',
  BRIDGE_LIMIT: 'BRIDGE_LIMIT',
  CANCELLED: 'CANCELLED',
};

interface SourcePosition {
  readonly line: number;
  readonly column: number;
}

/** Returns the stack frames of user code, with line numbers as the user counts them. */
function formatUserFrames(
  stack: string,
  kind: UnitKind,
): { text: string; firstPosition: SourcePosition | undefined } {
  let text = '';
  let firstPosition: SourcePosition | undefined;
  for (const frame of stack.split('\n')) {
    const match = STACK_FRAME.exec(frame);
    if (match === null) continue;
    const position = userPosition(kind, Number(match[2]), Number(match[3]));
    if (position.line < 1) continue;
    firstPosition ??= position;
    const name = match[1] === undefined || match[1] === 'eval' || match[1] === 'async eval' ? '' : match[1];
    text +=
      name === ''
        ? `\n    at line ${position.line}:${position.column}`
        : `\n    at ${name} (line ${position.line}:${position.column})`;
  }
  return { text, firstPosition };
}

const stringField = (fields: Record<string, unknown>, name: string): string => {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  return typeof value === 'string' ? value : '';
};

const integerField = (fields: Record<string, unknown>, name: string): number | undefined => {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  return Number.isSafeInteger(value) && (value as number) >= 0 ? (value as number) : undefined;
};

/** Returns the JSON object in `json`, or undefined if `json` is not one. */
export function readObject(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the code and fields of a guest's error, or undefined if the text does not have that shape. */
function readGuestError(json: string): { code: JobErrorCode; fields: Record<string, unknown> } | undefined {
  const fields = readObject(json);
  if (fields === undefined) return undefined;
  const phase = stringField(fields, 'phase');
  const code = Object.hasOwn(CODE_BY_PHASE, phase) ? CODE_BY_PHASE[phase] : undefined;
  return code === undefined ? undefined : { code, fields };
}

/** Returns the failure that a guest reports for its own code, and the index of the expression that failed. */
export function readGuestFailure(json: string, kind: UnitKind): { failure: SandboxFailure; index: number } {
  const error = readGuestError(json);
  if (error === undefined) {
    return { failure: createFailure('SANDBOX_PROTOCOL', 'The guest sent a malformed error.'), index: -1 };
  }
  const { code, fields } = error;
  const name = stringField(fields, 'name') || 'Error';
  const message = stringField(fields, 'message');
  const { text, firstPosition } = formatUserFrames(stringField(fields, 'stack'), kind);
  const line = integerField(fields, 'line') ?? firstPosition?.line;
  const column = integerField(fields, 'column') ?? firstPosition?.column;
  return {
    index: integerField(fields, 'index') ?? -1,
    failure: {
      code,
      name,
      message,
      ...(line === undefined ? {} : { line }),
      ...(column === undefined ? {} : { column }),
      ...(text === '' ? {} : { stack: `${name}: ${message}${text}` }),
      retryable: false,
    },
  };
}

/** Returns the failure for a job that its process ended. */
export function endFailure(code: EndCode, text: string): SandboxFailure {
  return createFailure(CODE_BY_END[code] ?? 'SANDBOX_PROTOCOL', text);
}
