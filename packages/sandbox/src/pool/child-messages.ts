import type { EndCode, ChildMessage } from '../protocol.ts';

const END_CODES: ReadonlySet<unknown> = new Set<EndCode>([
  'OK',
  'GUEST_ERROR',
  'RESULT_TOO_LARGE',
  'TIMEOUT_CPU',
  'TIMEOUT_WALL',
  'OUT_OF_MEMORY',
  'BRIDGE_LIMIT',
  'PROTOCOL',
  'CANCELLED',
  'LOST',
]);

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value);
const isBoolean = (value: unknown): value is boolean => typeof value === 'boolean';
const isString = (value: unknown): value is string => typeof value === 'string';
const isBytes = (value: unknown): value is Uint8Array | null => value === null || value instanceof Uint8Array;

type Checks = Readonly<Record<string, (value: unknown) => boolean>>;

const SHAPES: { readonly [T in ChildMessage['t']]: Checks } = {
  ready: { snapshot: isBytes },
  done: {
    id: isNumber,
    code: (value) => END_CODES.has(value),
    text: isString,
    stdout: isString,
    cpuMs: isNumber,
    wallMs: isNumber,
    waitedForContext: isBoolean,
    next: isNumber,
    rssMiB: isNumber,
  },
  call: { id: isNumber, call: isNumber, op: isString, head: isString, body: isBytes },
  enter: { id: isNumber },
  waiting: { id: isNumber },
};

/** Returns a process's message, or undefined if it is malformed. A compromised process may send anything. */
export function readChildMessage(message: unknown): ChildMessage | undefined {
  if (typeof message !== 'object' || message === null || !Object.hasOwn(message, 't')) return undefined;
  const fields = message as Record<string, unknown>;
  const kind = fields['t'];
  if (!isString(kind) || !Object.hasOwn(SHAPES, kind)) return undefined;
  const checks = SHAPES[kind as ChildMessage['t']];
  for (const name of Object.keys(checks)) {
    if (!Object.hasOwn(fields, name) || checks[name]?.(fields[name]) !== true) return undefined;
  }
  return fields as unknown as ChildMessage;
}
