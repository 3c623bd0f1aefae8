import type { Isolate } from 'isolated-vm';
import {
  EXPRESSION_START,
  USER_FILE,
  userPosition,
  type GuestError,
  type RunRequest,
  type UnitKind,
} from '../protocol.ts';

interface Unit {
  readonly code: string;
  readonly names: readonly string[];
}

/** The unit at `index` of a job's flat arguments. */
function unitAt(order: RunRequest, index: number): Unit | null {
  const { args } = order;
  let at = 1 + 2 * (args[0] as number);
  const units = args[at++] as number;
  for (let i = 0; i < units; i++) {
    const code = args[at++] as string;
    const values = args[at++] as number;
    const names: string[] = [];
    for (let v = 0; v < values; v++) names.push(args[at + 2 * v] as string);
    at += 2 * values;
    if (i === index) return { code, names };
  }
  return null;
}

/** The text whose compilation fails at the same place as the guest's. */
function wrap(unit: Unit, kind: UnitKind): string {
  const body = kind === 'function' ? unit.code : `${EXPRESSION_START}${unit.code}\n)`;
  return `(async function anonymous(${unit.names.join(',')}\n) {\n${body}\n})`;
}

/**
 * The guest's error with the place of a syntax error added: the constructor that compiles user code does not tell it,
 * the compiler of scripts does. `json` is user data and comes back unchanged where it is no such error.
 */
export function locate(json: string, order: RunRequest, isolate: Isolate): string {
  let error: GuestError;
  try {
    error = JSON.parse(json) as GuestError;
  } catch {
    return json;
  }
  if (error?.phase !== 'compile') return json;
  const asked = unitAt(order, error.index);
  if (asked === null) return json;
  const { source, ...rest } = error;
  // Imports were made calls, in as many lines.
  const unit = typeof source === 'string' ? { ...asked, code: source } : asked;
  const kind = order.mode === 'function' ? 'function' : 'expression';
  try {
    isolate.compileScriptSync(wrap(unit, kind), { filename: USER_FILE }).release();
  } catch (fault) {
    const match = new RegExp(`\\[${USER_FILE}:(\\d+):(\\d+)\\]$`).exec(String((fault as Error).message));
    // The fault may be seen only behind the last line of the code: it is still the user's.
    const lines = unit.code.split(/\r\n|[\n\r\u2028\u2029]/).length;
    if (match === null) return JSON.stringify(rest);
    const { line, column } = userPosition(kind, Number(match[1]), Number(match[2]));
    return JSON.stringify({ ...rest, line: Math.min(line, lines), column });
  }
  return JSON.stringify(rest);
}
