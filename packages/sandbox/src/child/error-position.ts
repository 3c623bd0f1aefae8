import type { Isolate } from 'isolated-vm';
import {
  EXPRESSION_START,
  USER_FILE,
  userPosition,
  type GuestError,
  type RunRequest,
  type UnitKind,
} from '../protocol.ts';

/** A part of a job's code: its function or one of its expressions. */
interface Unit {
  readonly code: string;
  readonly parameterNames: readonly string[];
}

/**
 * Returns the unit at `index`. A job's arguments are a flat array: the number of globals, name and JSON of each, the
 * number of units, and for each unit its code, the number of its parameters, and name and JSON of each.
 */
function unitAt(request: RunRequest, index: number): Unit | undefined {
  const { args } = request;
  let offset = 1 + 2 * (args[0] as number);
  const unitCount = args[offset++] as number;
  for (let i = 0; i < unitCount; i++) {
    const code = args[offset++] as string;
    const parameterCount = args[offset++] as number;
    const parameterNames: string[] = [];
    for (let j = 0; j < parameterCount; j++) parameterNames.push(args[offset + 2 * j] as string);
    offset += 2 * parameterCount;
    if (i === index) return { code, parameterNames };
  }
  return undefined;
}

/** Returns a script whose compilation fails at the same position as that of the unit in the guest. */
function wrap(unit: Unit, kind: UnitKind): string {
  const body = kind === 'function' ? unit.code : `${EXPRESSION_START}${unit.code}\n)`;
  return `(async function anonymous(${unit.parameterNames.join(',')}\n) {\n${body}\n})`;
}

/**
 * Adds the position to a syntax error of the guest: the function constructor does not report it, but the script
 * compiler does. `json` is user data and is returned unchanged if it is not a syntax error.
 */
export function addErrorPosition(json: string, request: RunRequest, isolate: Isolate): string {
  let error: GuestError;
  try {
    error = JSON.parse(json) as GuestError;
  } catch {
    return json;
  }
  if (error?.phase !== 'compile') return json;
  const jobUnit = unitAt(request, error.index);
  if (jobUnit === undefined) return json;
  const { source, ...errorFields } = error;
  // `source` is the code in which the guest replaced imports by calls. It has the same number of lines.
  const compiledUnit = typeof source === 'string' ? { ...jobUnit, code: source } : jobUnit;
  const kind = request.mode === 'function' ? 'function' : 'expression';
  try {
    isolate.compileScriptSync(wrap(compiledUnit, kind), { filename: USER_FILE }).release();
  } catch (syntaxError) {
    const { message } = syntaxError as Error;
    const match = new RegExp(`\\[${USER_FILE}:(\\d+):(\\d+)\\]$`).exec(String(message));
    // The error may be detected after the last line of the code, but it still belongs to the user's code.
    const lineCount = compiledUnit.code.split(/\r\n|[\n\r\u2028\u2029]/).length;
    if (match === null) return JSON.stringify(errorFields);
    const { line, column } = userPosition(kind, Number(match[1]), Number(match[2]));
    return JSON.stringify({ ...errorFields, line: Math.min(line, lineCount), column });
  }
  return JSON.stringify(errorFields);
}
