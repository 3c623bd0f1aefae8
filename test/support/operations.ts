import { Session } from 'node:inspector';
import type { Profiler } from 'node:inspector';

/**
 * Returns the number of operations of each run, so that a test can measure how work grows with its input. Unlike a
 * time, the count is the same on every machine and under any load.
 *
 * The number is the sum of two counts. V8's precise coverage counts every execution of every block of JavaScript (a
 * function's body, a branch, the body of a loop) in the packages and their dependencies. Coverage does not count inside
 * built-in functions. Built-in functions whose time is proportional to the length of a string or an array are therefore
 * wrapped during the count and add the characters or elements that they read: searches, replacements, sorting, copies,
 * JSON, and every step of a built-in iterator (spread, destructuring, `new Map(list)`).
 *
 * Not counted: concatenating (`+`, templates) and comparing strings, copies of objects by `{...object}`, and
 * backtracking of a regular expression inside one match. Functions that were compiled before the count began have no
 * counters. A test therefore imports the measured code by `await import()` after this module, and its file runs in a
 * separate process (`COUNTED` in test/vitest.config.ts).
 */
export async function countOperations(runs: readonly (() => unknown)[]): Promise<number[]> {
  const counts: number[] = [];
  takeCoverage();
  const restoreFunctions = BUILT_INS.map(wrap);
  try {
    for (const run of runs) {
      builtInReadCount = 0;
      await run();
      const builtInCount = builtInReadCount;
      counts.push(countExecutions(takeCoverage()) + builtInCount);
    }
  } finally {
    for (const restore of restoreFunctions) restore();
  }
  return counts;
}

const session = new Session();
session.connect();
session.post('Profiler.enable');
session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });

function takeCoverage(): Profiler.ScriptCoverage[] {
  let scripts: Profiler.ScriptCoverage[] = [];
  session.post('Profiler.takePreciseCoverage', (error, coverage) => {
    if (error) throw error;
    scripts = coverage.result;
  });
  return scripts;
}

const COUNTED_FILES = /\/(?:packages|node_modules)\/(?!(?:@?vitest|vite|fast-check)\/)/;

function countExecutions(scripts: readonly Profiler.ScriptCoverage[]): number {
  let executionCount = 0;
  for (const { url, functions } of scripts) {
    if (!COUNTED_FILES.test(url)) continue;
    for (const { ranges } of functions) for (const { count } of ranges) executionCount += count;
  }
  return executionCount;
}

/** Characters and elements that built-in functions have read in the current run. */
let builtInReadCount = 0;

type Method = (...args: never[]) => unknown;
type Cost = (receiver: never, args: readonly never[], result: never) => number;
interface BuiltIn {
  owner: object;
  name: string;
  cost: Cost;
}

function defineBuiltIns(owner: object, names: string, cost: Cost): BuiltIn[] {
  return names.split(' ').map((name) => ({ owner, name, cost }));
}

const lengthOf = (value: string | readonly unknown[]): number => value.length;
const resultCost: Cost = (_receiver, _args, result) => lengthOf(result ?? '');
const receiverCost: Cost = (receiver) => lengthOf(receiver);
const receiverAndResultCost: Cost = (receiver, _args, result) => lengthOf(receiver) + lengthOf(result ?? '');
const argumentCost: Cost = (_receiver, [first]) => lengthOf(first ?? '');
/** The characters or elements from the start of a search to the first character or element of the match. */
const searchCost: Cost = (receiver, [, fromIndex], result: number) =>
  result < 0 ? lengthOf(receiver) - Number(fromIndex ?? 0) : result + 1 - Number(fromIndex ?? 0);
const reverseSearchCost: Cost = (receiver, _args, result: number) => lengthOf(receiver) - Math.max(result, 0);
const includesCost: Cost = (receiver: string[], [item, fromIndex]) => {
  const index = indexOf(receiver, item, Number(fromIndex ?? 0));
  return (index < 0 ? receiver.length : index + 1) - Number(fromIndex ?? 0);
};
const sortCost: Cost = (receiver) => lengthOf(receiver) * Math.ceil(Math.log2(lengthOf(receiver) + 2));
const matchCost: Cost = (receiver: RegExp, [text]: readonly string[], result) => {
  if (!result) return receiver.sticky ? 1 : (text?.length ?? 0);
  return receiver.global || receiver.sticky ? 1 : (text?.length ?? 0);
};

const arrayIndexOf = Array.prototype.indexOf;
const stringIndexOf = String.prototype.indexOf;
function indexOf(receiver: string | string[], item: string | undefined, fromIndex: number): number {
  return typeof receiver === 'string'
    ? Reflect.apply(stringIndexOf, receiver, [item, fromIndex])
    : Reflect.apply(arrayIndexOf, receiver, [item, fromIndex]);
}

const iterators = [
  [].values(),
  new Map().values(),
  new Set().values(),
  ''[Symbol.iterator](),
  'a'.matchAll(/a/g),
];

const BUILT_INS: readonly BuiltIn[] = [
  ...defineBuiltIns(String.prototype, 'indexOf', searchCost),
  ...defineBuiltIns(String.prototype, 'lastIndexOf', reverseSearchCost),
  ...defineBuiltIns(String.prototype, 'includes', includesCost),
  ...defineBuiltIns(String.prototype, 'startsWith endsWith', argumentCost),
  ...defineBuiltIns(String.prototype, 'slice substring substr repeat padStart padEnd', resultCost),
  ...defineBuiltIns(
    String.prototype,
    'trim trimStart trimEnd split match matchAll search toWellFormed',
    receiverCost,
  ),
  ...defineBuiltIns(
    String.prototype,
    'replace replaceAll toLowerCase toUpperCase normalize',
    receiverAndResultCost,
  ),
  ...defineBuiltIns(RegExp.prototype, 'test exec', matchCost),
  ...defineBuiltIns(Array.prototype, 'indexOf', searchCost),
  ...defineBuiltIns(Array.prototype, 'lastIndexOf', reverseSearchCost),
  ...defineBuiltIns(Array.prototype, 'includes', includesCost),
  ...defineBuiltIns(Array.prototype, 'slice concat flat splice', resultCost),
  ...defineBuiltIns(
    Array.prototype,
    'map filter flatMap forEach join fill reverse shift unshift toReversed',
    receiverCost,
  ),
  ...defineBuiltIns(Array.prototype, 'sort toSorted', sortCost),
  ...defineBuiltIns(Array, 'from', resultCost),
  ...defineBuiltIns(Object, 'keys values entries getOwnPropertyNames', resultCost),
  ...defineBuiltIns(JSON, 'parse', argumentCost),
  ...defineBuiltIns(JSON, 'stringify', resultCost),
  ...iterators.flatMap((iterator) =>
    defineBuiltIns(Object.getPrototypeOf(iterator) as object, 'next', () => 1),
  ),
];

/** Wraps the function. Returns a function that restores the original. */
function wrap({ owner, name, cost }: BuiltIn): () => void {
  const original = Object.getOwnPropertyDescriptor(owner, name) as PropertyDescriptor;
  const method = original.value as Method;
  function countingMethod(this: unknown, ...args: never[]): unknown {
    const result = Reflect.apply(method, this, args);
    builtInReadCount += cost(this as never, args, result as never);
    return result;
  }
  Object.defineProperty(owner, name, { ...original, value: countingMethod });
  return () => void Object.defineProperty(owner, name, original);
}
