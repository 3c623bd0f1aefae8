import { apply, define, get, NativeMap, NativePromise, remove, set } from './primordials.ts';
import { isHeard, send } from './link.ts';

const waiting = new NativeMap<number, () => void>();
let lastId = 0;

type Handler = (...values: unknown[]) => unknown;

function toMs(delay: unknown): number {
  const ms = +(delay as number);
  return ms >= 1 ? ms : 0;
}

function check(handler: unknown, name: string): asserts handler is Handler {
  if (typeof handler !== 'function') throw new TypeError(name + ' takes a function');
}

function arm(id: number, ms: number, action: () => void): void {
  send('T' + id + ':' + ms);
  if (isHeard()) set(waiting, id, action);
}

function clear(id: unknown): void {
  const number = +(id as number);
  if (remove(waiting, number)) send('X' + number);
}

/** Runs the timer's handler; called by the process when its time has come. */
export function fire(id: number): void {
  const action = get(waiting, id);
  if (action === undefined) return;
  remove(waiting, id);
  action();
}

/** Installs the timers and queueMicrotask; the clock is the process'. */
export function installTimers(): void {
  define(
    globalThis,
    'setTimeout',
    function setTimeout(handler: unknown, delay?: unknown, ...values: unknown[]): number {
      check(handler, 'setTimeout');
      const id = ++lastId;
      arm(id, toMs(delay), () => void apply(handler, undefined, values));
      return id;
    },
  );
  define(globalThis, 'setImmediate', function setImmediate(handler: unknown, ...values: unknown[]): number {
    check(handler, 'setImmediate');
    const id = ++lastId;
    arm(id, 0, () => void apply(handler, undefined, values));
    return id;
  });
  define(
    globalThis,
    'setInterval',
    function setInterval(handler: unknown, delay?: unknown, ...values: unknown[]): number {
      check(handler, 'setInterval');
      const id = ++lastId;
      const ms = toMs(delay) || 1;
      const turn = (): void => {
        arm(id, ms, turn);
        apply(handler, undefined, values);
      };
      arm(id, ms, turn);
      return id;
    },
  );
  for (const name of ['clearTimeout', 'clearInterval', 'clearImmediate']) define(globalThis, name, clear);
  const settled = NativePromise.resolve();
  const { then } = NativePromise.prototype;
  define(globalThis, 'queueMicrotask', function queueMicrotask(handler: unknown): void {
    check(handler, 'queueMicrotask');
    // Unlike a promise's own, an error here has to end the job.
    void apply(then, settled, [() => fireMicrotask(handler)]);
  });
}

let fail: (error: unknown) => void = () => undefined;

/** Tells where errors of microtasks go. */
export function onMicrotaskError(report: (error: unknown) => void): void {
  fail = report;
}

function fireMicrotask(handler: Handler): void {
  try {
    apply(handler, undefined, []);
  } catch (error) {
    fail(error);
  }
}
