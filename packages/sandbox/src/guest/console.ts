import { apply, attempt, define, isError, slice, stringify, toText } from './primordials.ts';
import { send } from './channel.ts';

const LINE_CHARS = 64 * 1024;

/**
 * Formats a value: strings unchanged, errors as `name: message`, other objects as JSON, everything else with String().
 */
function format(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value !== 'object' || value === null)
    return attempt(() => toText(value), '[value without text]');
  const fallback = (): string => attempt(() => toText(value), '[object]');
  if (attempt(() => isError(value), false)) return fallback();
  return attempt(() => stringify(value) ?? fallback(), '') || fallback();
}

/** True once the process accepts no more output. Further lines are then not sent. */
let isFull = false;

/** Returns a function that writes its arguments as one line. */
const createWriter = (prefix: string) =>
  function (...values: unknown[]): void {
    if (isFull) return;
    let line = prefix;
    for (let i = 0; i < values.length && line.length <= LINE_CHARS; i++)
      line += (i > 0 ? ' ' : '') + format(values[i]);
    isFull = send('L' + (line.length > LINE_CHARS ? slice(line, 0, LINE_CHARS) : line)) === 0;
  };

/** Installs `console`; its output becomes the job's stdout. */
export function installConsole(): void {
  const writeLog = createWriter('');
  const writeError = createWriter('ERROR: ');
  const consoleObject = {};
  for (const name of ['log', 'info', 'debug', 'dir', 'table', 'group', 'groupCollapsed', 'trace'])
    define(consoleObject, name, writeLog);
  define(consoleObject, 'warn', createWriter('WARN: '));
  define(consoleObject, 'error', writeError);
  define(consoleObject, 'assert', (condition: unknown, ...values: unknown[]) => {
    if (!condition) apply(writeError, undefined, ['Assertion failed', ...values]);
  });
  for (const name of ['groupEnd', 'time', 'timeEnd', 'timeLog', 'count', 'countReset', 'clear'])
    define(consoleObject, name, () => undefined);
  define(globalThis, 'console', consoleObject);
}
