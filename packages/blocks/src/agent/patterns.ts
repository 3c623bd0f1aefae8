import { format } from '@cfworker/json-schema';
import { RE2JS } from 're2js';

const MAX_PATTERN_CHARS = 1000;
/** Maximum number of instructions of a compiled pattern. The time of a check grows with it and with the length of the text. */
const MAX_SIZE = 1000;
/** Maximum number of instructions of all patterns of a schema. */
const MAX_SIZES = 20_000;
/** Longer texts match no pattern. */
const MAX_TEXT_CHARS = 20_000;

/** The number of instructions that further patterns of a schema may have. */
export interface PatternBudget {
  instructions: number;
}

/** Returns the budget of one schema. */
export function patternBudget(): PatternBudget {
  return { instructions: MAX_SIZES };
}

/** Returns whether a text matches. Takes time in proportion to its length. */
type Matcher = (text: string) => boolean;

/** The name of the format that replaces patterns, because the validator would check patterns with an engine that backtracks. */
const FORMAT = 'pattern';
let current: Matcher | undefined;
/**
 * The validator looks up the format of a subschema and calls it at once, so the call belongs to the last format that was looked
 * up.
 */
format[FORMAT] = (text: string) => current?.(text) ?? true;

/**
 * Returns the format in place of a pattern, for a schema of the validator. `spend` is called with the length of each text
 * that is checked.
 *
 * Throws an Error that says why the pattern cannot be checked.
 */
export function formatOf(pattern: string, budget: PatternBudget, spend: (chars: number) => void): object {
  const matcher = matcherOf(pattern, budget);
  const check: Matcher = (text) => {
    spend(text.length);
    return text.length <= MAX_TEXT_CHARS && matcher(text);
  };
  return formatWith(check);
}

/** The names of the properties of one object that match patterns. */
export interface NameCollector {
  /** The format that the validator checks all names with. */
  format: object;
  /** Removes all names. */
  reset(): void;
  /** The patterns that each collected name matches. */
  readonly matches: ReadonlyMap<string, readonly string[]>;
}

/**
 * Returns a collector of the names that match any of the patterns. `spend` is called as by `formatOf`. Throws an Error with the
 * pattern that cannot be checked.
 */
export function nameCollector(
  patterns: readonly string[],
  budget: PatternBudget,
  spend: (chars: number) => void,
): NameCollector {
  const matchers = patterns.map((pattern) => ({ pattern, matcher: matcherOf(pattern, budget) }));
  const matches = new Map<string, readonly string[]>();
  const collect: Matcher = (name) => {
    spend(name.length * matchers.length);
    if (name.length > MAX_TEXT_CHARS) return true;
    const found = matchers.filter(({ matcher }) => matcher(name)).map(({ pattern }) => pattern);
    if (found.length > 0) matches.set(name, found);
    return true;
  };
  return { format: formatWith(collect), reset: () => matches.clear(), matches };
}

function formatWith(check: Matcher): object {
  return {
    toString: () => {
      current = check;
      return FORMAT;
    },
  };
}

/** Returns the matcher of a pattern, in the syntax of ECMAScript. Throws an Error with the reason if it cannot be translated. */
function matcherOf(pattern: string, budget: PatternBudget): Matcher {
  if (pattern.length > MAX_PATTERN_CHARS) throw new Error(`has more than ${MAX_PATTERN_CHARS} characters`);
  // Checked before the pattern is compiled, which takes time in proportion to its size.
  const size = sizeOf(pattern);
  if (size > MAX_SIZE) throw new Error('repeats too much');
  budget.instructions -= size;
  if (budget.instructions < 0) throw new Error('exceeds the limit for all patterns together');
  const compiled = RE2JS.compile(RE2JS.translateRegExp(pattern));
  return (text) => compiled.matcher(text).find();
}

/** Returns why a pattern cannot be checked, such as a look-ahead, which needs backtracking; undefined: it can. */
export function patternProblem(pattern: string, budget: PatternBudget): string | undefined {
  try {
    matcherOf(pattern, budget);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const REPEAT = /\{(\d{1,9})(?:,(\d{0,9}))?\}/y;

/** Returns about how many instructions a pattern has. Each repetition counts, which is how small patterns become large. */
function sizeOf(pattern: string): number {
  const around: number[] = [];
  let size = 0;
  let last = 0;
  for (let at = 0; at < pattern.length; at++) {
    const character = pattern[at];
    REPEAT.lastIndex = at;
    const repeat = character === '{' ? REPEAT.exec(pattern) : null;
    if (repeat) {
      const [text, least, most = ''] = repeat;
      const times = Math.max(Number(least) + 1, Number(most));
      size += last * (times - 1);
      last *= times;
      at += text.length - 1;
    } else if (character === '(') {
      around.push(size);
      size = 0;
    } else if (character === ')') {
      last = size + 2;
      size = (around.pop() ?? 0) + last;
    } else {
      if (character === '[') at = endOfClass(pattern, at);
      else if (character === '\\') at += 1;
      last = 1;
      size += 1;
    }
  }
  return size;
}

function endOfClass(pattern: string, from: number): number {
  for (let at = from + 1; at < pattern.length; at++) {
    if (pattern[at] === '\\') at += 1;
    else if (pattern[at] === ']') return at;
  }
  return pattern.length;
}
