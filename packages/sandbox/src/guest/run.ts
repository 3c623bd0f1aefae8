import loadImports from 'onDemand:./imports.ts';
import type * as imports from './imports.ts';
import { EXPRESSION_START, type GuestMode } from '../protocol.ts';
import { importDynamically, importStatically, sealModules } from './modules.ts';
import { sendError, sendResult, SOURCE_URL_LINE } from './report.ts';
import {
  apply,
  AsyncFunction,
  construct,
  define,
  lastIndexOf,
  parse,
  pinConstructor,
  append,
  slice,
  stringify,
  test,
} from './primordials.ts';

type Imports = typeof imports;
type Args = readonly (string | number)[];
type UserFunction = (...values: unknown[]) => Promise<unknown>;

/** One piece of user code with the names that it sees. */
interface Unit {
  code: string;
  readonly parameterNames: string[];
  readonly values: string[];
  /** Values that are not JSON; they belong to the last names. */
  readonly nonJsonValues: unknown[];
  /** The compiled text, if it differs from the given code. */
  source: string | undefined;
}

/**
 * Reads the flat list of arguments, in the order that protocol.ts documents, without the first two: kind and mode.
 * Defines the globals and returns the units.
 */
function readArgs(args: Args): Unit[] {
  let index = 2;
  for (let remainingGlobals = args[index++] as number; remainingGlobals > 0; remainingGlobals--) {
    define(globalThis, args[index++] as string, parse(args[index++] as string));
  }
  const units: Unit[] = [];
  for (let remainingUnits = args[index++] as number; remainingUnits > 0; remainingUnits--) {
    const unit: Unit = {
      code: args[index++] as string,
      parameterNames: [],
      values: [],
      nonJsonValues: [],
      source: undefined,
    };
    for (let remainingValues = args[index++] as number; remainingValues > 0; remainingValues--) {
      append(unit.parameterNames, args[index++] as string);
      append(unit.values, args[index++] as string);
    }
    append(units, unit);
  }
  return units;
}

/** Compiles with the constructor, not by joining text, so that a body cannot close its own wrapper. */
function compile(names: string[], body: string): UserFunction {
  const constructorArgs: string[] = [];
  for (let i = 0; i < names.length; i++) append(constructorArgs, names[i] as string);
  append(constructorArgs, body);
  return construct(AsyncFunction, constructorArgs) as UserFunction;
}

const wrapExpression = (expression: string): string =>
  EXPRESSION_START + expression + '\n)' + SOURCE_URL_LINE;
/**
 * Matches code that contains only whitespace, semicolons and comments. A line comment always extends to the end of its
 * line, so matching is unambiguous, and a long sequence of slashes takes linear time.
 */
const ONLY_COMMENTS =
  /^(?:\s|;|\/\/[^\n\r\u2028\u2029]*(?:[\n\r\u2028\u2029]|$)|\/\*(?:[^*]|\*(?!\/))*\*\/)*$/;

/**
 * Compiles an expression. Semicolons are not allowed inside parentheses, so trailing ones are removed until the code
 * compiles, starting with the last.
 */
function compileExpression(unit: Unit): UserFunction {
  if (test(ONLY_COMMENTS, unit.code)) return compile(unit.parameterNames, 'return undefined');
  let firstError: unknown;
  let code = unit.code;
  for (let end = code.length; end >= 0;) {
    try {
      return compile(unit.parameterNames, wrapExpression(code));
    } catch (error) {
      firstError ??= error;
    }
    end = end === 0 ? -1 : lastIndexOf(unit.code, ';', end - 1);
    while (end >= 0 && !test(ONLY_COMMENTS, slice(unit.code, end)))
      end = end === 0 ? -1 : lastIndexOf(unit.code, ';', end - 1);
    if (end >= 0) code = slice(unit.code, 0, end) + ' ' + slice(code, end + 1);
  }
  throw firstError;
}

function call(userFunction: UserFunction, unit: Unit): Promise<unknown> {
  const values: unknown[] = [];
  for (let i = 0; i < unit.values.length; i++) append(values, parse(unit.values[i] as string));
  for (let i = 0; i < unit.nonJsonValues.length; i++) append(values, unit.nonJsonValues[i]);
  return apply(userFunction, undefined, values) as Promise<unknown>;
}

const IMPORT = /\bimport\b/;

/** Compiles a function body, with imports replaced by calls. */
function compileFunction(unit: Unit): UserFunction {
  // Each context compiles the pattern anew, so a substring check comes first.
  if (lastIndexOf(unit.code, 'import', unit.code.length) >= 0 && test(IMPORT, unit.code)) {
    const { rewriteImports, DYNAMIC_IMPORT, STATIC_IMPORT } = loadImports({}) as unknown as Imports;
    const source = rewriteImports(unit.code);
    if (source !== unit.code) {
      unit.code = unit.source = source;
      append(unit.parameterNames, DYNAMIC_IMPORT);
      append(unit.nonJsonValues, importDynamically);
      append(unit.parameterNames, STATIC_IMPORT);
      append(unit.nonJsonValues, importStatically);
    }
  }
  return compile(unit.parameterNames, unit.code + SOURCE_URL_LINE);
}

const toJson = (value: unknown): string => stringify(value) ?? 'null';

/** Runs one unit and returns its value with its JSON; undefined after an error, which has already been sent. */
async function evaluate(
  unit: Unit,
  index: number,
  compileUnit: (unit: Unit) => UserFunction,
): Promise<{ value: unknown; json: string } | undefined> {
  let userFunction: UserFunction;
  try {
    userFunction = compileUnit(unit);
  } catch (error) {
    sendError('compile', index, error, unit.source);
    return undefined;
  }
  let value: unknown;
  try {
    value = await pinConstructor(call(userFunction, unit));
  } catch (error) {
    sendError('run', index, error);
    return undefined;
  }
  try {
    return { value, json: toJson(value) };
  } catch (error) {
    sendError('result', index, error);
    return undefined;
  }
}

/** Runs a job. Sends its result or error as one message, now or after timers and answers of the host. */
export async function run(mode: GuestMode, args: Args): Promise<void> {
  let units: Unit[];
  sealModules();
  try {
    units = readArgs(args);
  } catch (error) {
    sendError('run', -1, error);
    return;
  }
  if (mode === 'function') {
    const unit = units[0] as Unit;
    const result = await pinConstructor(evaluate(unit, 0, compileFunction));
    if (result !== undefined) sendResult(result.json);
    return;
  }
  const json: string[] = [];
  for (let i = 0; i < units.length; i++) {
    const result = await pinConstructor(evaluate(units[i] as Unit, i, compileExpression));
    if (result === undefined) return;
    append(json, result.json);
    if (mode === 'first-true' && result.value) {
      sendResult(stringify({ __proto__: null, index: i, json }));
      return;
    }
  }
  sendResult(stringify({ __proto__: null, index: -1, json }));
}
