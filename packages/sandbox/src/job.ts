import { SandboxError } from './error.ts';
import type { JobLimits } from './limits.ts';
import { createFailure, type SandboxFailure } from './outcome.ts';

interface JobBase {
  /** Jobs of one run share an isolate (if `share` is `run`) until `release(runId)`. */
  readonly runId: string;
  /** Jobs of different tenants never share a process. Default `default`. */
  readonly tenant?: string;
  /** Name → JSON text; defined as globals. */
  readonly globals?: Readonly<Record<string, string>>;
  readonly limits?: Partial<JobLimits>;
  /** Ends the job immediately with CANCELLED. */
  readonly signal?: AbortSignal;
}

export interface FunctionJob extends JobBase {
  /** Default `javascript`. Shell needs a native image and the isolation level `strict`. */
  readonly language?: 'javascript' | 'python' | 'shell';
  /** Id of an image that is ready and has the job's language. It provides the packages that the code imports. */
  readonly image?: string;
  /**
   * JavaScript: the body of an async function. Python: a module. Both allow `return` and `await` at the top level.
   * Shell: a bash script; its values are environment variables, and its result follows `__HEDDLE_RESULT__=` on a line
   * of its output.
   */
  readonly code: string;
  /** Identifier → JSON text; bound as parameters (in Python: variables of the module). Every job has its own copies. */
  readonly values?: Readonly<Record<string, string>>;
}

export interface ExpressionJob extends JobBase {
  /** `first-true`: evaluate in order up to the first truthy expression. `values`: evaluate all. */
  readonly mode: 'first-true' | 'values';
  readonly expressions: readonly {
    readonly code: string;
    readonly values?: Readonly<Record<string, string>>;
  }[];
}

type FlatArguments = (string | number)[];

const IDENTIFIER = /^[\p{ID_Start}$_][\p{ID_Continue}$\u200c\u200d]*$/u;

/**
 * Appends the number of values, then the name and the JSON of each. Returns the number of characters of JSON. Checks
 * the names of parameters, because they become part of a parameter list.
 */
function pushValues(
  args: FlatArguments,
  values: Readonly<Record<string, string>> | undefined,
  areParameters: boolean,
): number {
  const names = values === undefined ? [] : Object.keys(values);
  let charCount = 0;
  args.push(names.length);
  for (const name of names) {
    const text = values?.[name];
    if (typeof text !== 'string')
      throw new SandboxError('INVALID_JOB', `The value "${name}" is not JSON text.`);
    if (areParameters && !IDENTIFIER.test(name))
      throw new SandboxError('INVALID_JOB', `"${name}" is not an identifier and cannot name a value.`);
    args.push(name, text);
    charCount += text.length;
  }
  return charCount;
}

/**
 * Returns the job's arguments as the flat list that the guest reads (protocol.ts), or the failure if they are too
 * large. Throws SandboxError INVALID_JOB.
 */
export function toFlatArguments(
  globals: FunctionJob['globals'],
  units: ExpressionJob['expressions'],
  limits: JobLimits,
): FlatArguments | SandboxFailure {
  const args: FlatArguments = [];
  let inputChars = pushValues(args, globals, false);
  let codeChars = 0;
  args.push(units.length);
  for (const unit of units) {
    if (typeof unit.code !== 'string')
      throw new SandboxError('INVALID_JOB', 'The code of a job must be a string.');
    args.push(unit.code);
    codeChars += unit.code.length;
    inputChars += pushValues(args, unit.values, true);
  }
  if (codeChars > limits.codeChars)
    return createFailure(
      'INPUT_TOO_LARGE',
      `The code has ${codeChars} characters; ${limits.codeChars} are allowed.`,
    );
  if (inputChars > limits.inputChars)
    return createFailure(
      'INPUT_TOO_LARGE',
      `The inputs have ${inputChars} characters as JSON; ${limits.inputChars} are allowed.`,
    );
  return args;
}
