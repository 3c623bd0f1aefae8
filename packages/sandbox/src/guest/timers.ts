import { apply, define, get, NativeMap, NativePromise, remove, set } from './primordials.ts';
import { isOpen, send } from './channel.ts';

const pendingTimers = new NativeMap<number, () => void>();
let lastId = 0;

type Handler = (...values: unknown[]) => unknown;

function toMs(delay: unknown): number {
  const ms = +(delay as number);
  return ms >= 1 ? ms : 0;
}

function assertFunction(handler: unknown, name: string): asserts handler is Handler {
  if (typeof handler !== 'function') throw new TypeError(name + ' requires a function');
}

function startTimer(id: number, ms: number, action: () => void): void {
  send('T' + id + ':' + ms);
  if (isOpen()) set(pendingTimers, id, action);
}

function clear(id: unknown): void {
  const timerId = +(id as number);
  if (remove(pendingTimers, timerId)) send('X' + timerId);
}

/** Runs the timer's handler; called by the process when the timer is due. */
export function fireTimer(id: number): void {
  const action = get(pendingTimers, id);
  if (action === undefined) return;
  remove(pendingTimers, id);
  action();
}

/** Installs timers and queueMicrotask; the process measures the time. */
export function installTimers(): void {
  define(
    globalThis,
    'setTimeout',
    function setTimeout(handler: unknown, delay?: unknown, ...values: unknown[]): number {
      assertFunction(handler, 'setTimeout');
      const id = ++lastId;
      startTimer(id, toMs(delay), () => void apply(handler, undefined, values));
      return id;
    },
  );
  define(globalThis, 'setImmediate', function setImmediate(handler: unknown, ...values: unknown[]): number {
    assertFunction(handler, 'setImmediate');
    const id = ++lastId;
    startTimer(id, 0, () => void apply(handler, undefined, values));
    return id;
  });
  define(
    globalThis,
    'setInterval',
    function setInterval(handler: unknown, delay?: unknown, ...values: unknown[]): number {
      assertFunction(handler, 'setInterval');
      const id = ++lastId;
      const ms = toMs(delay) || 1;
      const tick = (): void => {
        startTimer(id, ms, tick);
        apply(handler, undefined, values);
      };
      startTimer(id, ms, tick);
      return id;
    },
  );
  for (const name of ['clearTimeout', 'clearInterval', 'clearImmediate']) define(globalThis, name, clear);
  const resolvedPromise = NativePromise.resolve();
  const { then } = NativePromise.prototype;
  define(globalThis, 'queueMicrotask', function queueMicrotask(handler: unknown): void {
    assertFunction(handler, 'queueMicrotask');
    // An error here ends the job, unlike an error in a promise callback.
    void apply(then, resolvedPromise, [() => fireMicrotask(handler)]);
  });
}

let reportError: (error: unknown) => void = () => undefined;

/** Sets the handler for errors of microtasks. */
export function onMicrotaskError(report: (error: unknown) => void): void {
  reportError = report;
}

function fireMicrotask(handler: Handler): void {
  try {
    apply(handler, undefined, []);
  } catch (error) {
    reportError(error);
  }
}
