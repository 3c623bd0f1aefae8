import { Session } from 'node:inspector';
import type { Profiler } from 'node:inspector';

/**
 * Returns the number of operations of each run, so that a test can measure how work grows with its input. Unlike a
 * time, the count is the same on every machine and under any load.
 *
 * The number is the sum of two counts. V8's precise coverage counts every execution of every block of JavaScript (a
 * function's body, a branch, the body of a loop) in the packages and their dependencies. It does not see into built-in
 * functions, so those that take time in proportion to a text or a list are wrapped during the count and add the
 * characters or elements that they read: searches, replacements, sorting, copies, JSON, and every step of a built-in
 * iterator (spread, destructuring, `new Map(list)`).
 *
 * Not counted: joining and comparing texts, copies of objects by `{...object}`, and backtracking of a regular
 * expression inside one match. Functions that were compiled before the count began have no counters, so a test imports
 * the measured code by `await import()` after this module, and its file runs in its own process (`COUNTED` in
 * test/vitest.config.ts).
 */
export async function countOperations(runs: readonly (() => unknown)[]): Promise<number[]> {
  const counts: number[] = [];
  takeCoverage();
  const restore = BUILT_INS.map(wrap);
  try {
    for (const run of runs) {
      spent = 0;
      await run();
      const ofBuiltIns = spent;
      counts.push(blocksIn(takeCoverage()) + ofBuiltIns);
    }
  } finally {
    for (const each of restore) each();
  }
  return counts;
}

const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });

function takeCoverage(): Profiler.ScriptCoverage[] {
  let scripts: Profiler.ScriptCoverage[] = [];
  session.post('Profiler.takePreciseCoverage', (error, taken) => {
    if (error) throw error;
    scripts = taken.result;
  });
  return scripts;
}

const COUNTED = /\/(?:packages|node_modules)\/(?!(?:@?vitest|vite|fast-check)\/)/;

function blocksIn(scripts: readonly Profiler.ScriptCoverage[]): number {
  let blocks = 0;
  for (const { url, functions } of scripts) {
    if (!COUNTED.test(url)) continue;
    for (const { ranges } of functions) for (const { count } of ranges) blocks += count;
  }
  return blocks;
}

/** Characters and elements that built-in functions have read since the count began. */
let spent = 0;

type Method = (...args: never[]) => unknown;
type Cost = (receiver: never, args: readonly never[], result: never) => number;
interface BuiltIn {
  owner: object;
  name: string;
  cost: Cost;
}

function builtIns(owner: object, names: string, cost: Cost): BuiltIn[] {
  return names.split(' ').map((name) => ({ owner, name, cost }));
}

const length = (value: string | readonly unknown[]): number => value.length;
const ofResult: Cost = (_receiver, _args, result) => length(result ?? '');
const ofReceiver: Cost = (receiver) => length(receiver);
const ofBoth: Cost = (receiver, _args, result) => length(receiver) + length(result ?? '');
const ofArgument: Cost = (_receiver, [first]) => length(first ?? '');
/** The distance from the start of a search to its end. */
const found: Cost = (receiver, [, from], result: number) =>
  result < 0 ? length(receiver) - Number(from ?? 0) : result + 1 - Number(from ?? 0);
const foundFromEnd: Cost = (receiver, _args, result: number) => length(receiver) - Math.max(result, 0);
const contained: Cost = (receiver: string[], [what, from]) => {
  const at = indexOf(receiver, what, Number(from ?? 0));
  return (at < 0 ? receiver.length : at + 1) - Number(from ?? 0);
};
const sortedCost: Cost = (receiver) => length(receiver) * Math.ceil(Math.log2(length(receiver) + 2));
const matched: Cost = (receiver: RegExp, [text]: readonly string[], result) => {
  if (!result) return receiver.sticky ? 1 : (text?.length ?? 0);
  return receiver.global || receiver.sticky ? 1 : (text?.length ?? 0);
};

const arrayIndexOf = Array.prototype.indexOf;
const stringIndexOf = String.prototype.indexOf;
function indexOf(receiver: string | string[], what: string | undefined, from: number): number {
  return typeof receiver === 'string'
    ? Reflect.apply(stringIndexOf, receiver, [what, from])
    : Reflect.apply(arrayIndexOf, receiver, [what, from]);
}

const iterators = [
  [].values(),
  new Map().values(),
  new Set().values(),
  ''[Symbol.iterator](),
  'a'.matchAll(/a/g),
];

const BUILT_INS: readonly BuiltIn[] = [
  ...builtIns(String.prototype, 'indexOf', found),
  ...builtIns(String.prototype, 'lastIndexOf', foundFromEnd),
  ...builtIns(String.prototype, 'includes', contained),
  ...builtIns(String.prototype, 'startsWith endsWith', ofArgument),
  ...builtIns(String.prototype, 'slice substring substr repeat padStart padEnd', ofResult),
  ...builtIns(
    String.prototype,
    'trim trimStart trimEnd split match matchAll search toWellFormed',
    ofReceiver,
  ),
  ...builtIns(String.prototype, 'replace replaceAll toLowerCase toUpperCase normalize', ofBoth),
  ...builtIns(RegExp.prototype, 'test exec', matched),
  ...builtIns(Array.prototype, 'indexOf', found),
  ...builtIns(Array.prototype, 'lastIndexOf', foundFromEnd),
  ...builtIns(Array.prototype, 'includes', contained),
  ...builtIns(Array.prototype, 'slice concat flat splice', ofResult),
  ...builtIns(
    Array.prototype,
    'map filter flatMap forEach join fill reverse shift unshift toReversed',
    ofReceiver,
  ),
  ...builtIns(Array.prototype, 'sort toSorted', sortedCost),
  ...builtIns(Array, 'from', ofResult),
  ...builtIns(Object, 'keys values entries getOwnPropertyNames', ofResult),
  ...builtIns(JSON, 'parse', ofArgument),
  ...builtIns(JSON, 'stringify', ofResult),
  ...iterators.flatMap((each) => builtIns(Object.getPrototypeOf(each) as object, 'next', () => 1)),
];

/** Wraps the function. Returns a function that restores the original. */
function wrap({ owner, name, cost }: BuiltIn): () => void {
  const original = Object.getOwnPropertyDescriptor(owner, name) as PropertyDescriptor;
  const method = original.value as Method;
  function counted(this: unknown, ...args: never[]): unknown {
    const result = Reflect.apply(method, this, args);
    spent += cost(this as never, args, result as never);
    return result;
  }
  Object.defineProperty(owner, name, { ...original, value: counted });
  return () => void Object.defineProperty(owner, name, original);
}
