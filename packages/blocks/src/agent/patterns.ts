import { format } from '@cfworker/json-schema';
import { RE2JS } from 're2js';

const MAX_PATTERN_CHARS = 1000;
/**
 * Maximum number of instructions of a compiled pattern. The time of a check grows with this number and with the length
 * of the text.
 */
const MAX_SIZE = 1000;
/** Maximum number of instructions of all patterns of a schema. */
const MAX_TOTAL_SIZE = 20_000;
/** Longer texts match no pattern. */
const MAX_TEXT_CHARS = 20_000;

/** The number of instructions that further patterns of a schema may have. */
export interface PatternBudget {
  remainingInstructions: number;
}

/** Returns the budget of one schema. */
export function createPatternBudget(): PatternBudget {
  return { remainingInstructions: MAX_TOTAL_SIZE };
}

/** Returns whether a text matches. Takes time in proportion to its length. */
type Matcher = (text: string) => boolean;

/**
 * The name of the format that replaces patterns, because the validator would check patterns with a backtracking engine.
 */
const FORMAT = 'pattern';
let lastMatcher: Matcher | undefined;
/**
 * The validator calls the format of a subschema immediately after it looks the format up, so the call belongs to the
 * last format that was looked up.
 */
format[FORMAT] = (text: string) => lastMatcher?.(text) ?? true;

/**
 * Returns the value of the keyword `format` with which the validator checks a pattern. `consume` is called with the
 * length of each text that is checked.
 *
 * Throws an Error that says why the pattern cannot be checked.
 */
export function formatOf(pattern: string, budget: PatternBudget, consume: (chars: number) => void): object {
  const matcher = matcherOf(pattern, budget);
  const check: Matcher = (text) => {
    consume(text.length);
    return text.length <= MAX_TEXT_CHARS && matcher(text);
  };
  return toFormat(check);
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
 * Returns a collector of the names that match any of the patterns. `consume` is called with the length of each name
 * times the number of patterns. Throws an Error that says why a pattern cannot be checked.
 */
export function createNameCollector(
  patterns: readonly string[],
  budget: PatternBudget,
  consume: (chars: number) => void,
): NameCollector {
  const matchers = patterns.map((pattern) => ({ pattern, matcher: matcherOf(pattern, budget) }));
  const matches = new Map<string, readonly string[]>();
  // Every name is valid: the format only collects those that match.
  const collect: Matcher = (name) => {
    consume(name.length * matchers.length);
    if (name.length > MAX_TEXT_CHARS) return true;
    const matchedPatterns = matchers.filter(({ matcher }) => matcher(name)).map(({ pattern }) => pattern);
    if (matchedPatterns.length > 0) matches.set(name, matchedPatterns);
    return true;
  };
  return { format: toFormat(collect), reset: () => matches.clear(), matches };
}

function toFormat(check: Matcher): object {
  return {
    toString: () => {
      lastMatcher = check;
      return FORMAT;
    },
  };
}

/**
 * Returns the matcher of a pattern, in the syntax of ECMAScript, and subtracts its instructions from the budget. Throws
 * an Error with the reason if the pattern is too large or cannot be translated.
 */
function matcherOf(pattern: string, budget: PatternBudget): Matcher {
  if (pattern.length > MAX_PATTERN_CHARS) throw new Error(`has more than ${MAX_PATTERN_CHARS} characters`);
  // Checked before the pattern is compiled, which takes time in proportion to its size.
  const size = sizeOf(pattern);
  if (size > MAX_SIZE) throw new Error('repeats too much');
  budget.remainingInstructions -= size;
  if (budget.remainingInstructions < 0) throw new Error('exceeds the limit for all patterns together');
  const compiledPattern = RE2JS.compile(RE2JS.translateRegExp(pattern));
  return (text) => compiledPattern.matcher(text).find();
}

/** Returns why a pattern cannot be checked, such as a look-ahead, which needs backtracking; undefined if it can. */
export function patternProblem(pattern: string, budget: PatternBudget): string | undefined {
  try {
    matcherOf(pattern, budget);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const REPETITION = /\{(\d{1,9})(?:,(\d{0,9}))?\}/y;

/** Estimates the number of instructions of a pattern. A repetition multiplies the instructions of what it repeats. */
function sizeOf(pattern: string): number {
  const outerSizes: number[] = [];
  let size = 0;
  let lastSize = 0;
  for (let index = 0; index < pattern.length; index++) {
    const character = pattern[index];
    REPETITION.lastIndex = index;
    const repetition = character === '{' ? REPETITION.exec(pattern) : null;
    if (repetition) {
      const [text, min, max = ''] = repetition;
      const times = Math.max(Number(min) + 1, Number(max));
      size += lastSize * (times - 1);
      lastSize *= times;
      index += text.length - 1;
    } else if (character === '(') {
      outerSizes.push(size);
      size = 0;
    } else if (character === ')') {
      lastSize = size + 2;
      size = (outerSizes.pop() ?? 0) + lastSize;
    } else {
      if (character === '[') index = endOfCharacterClass(pattern, index);
      else if (character === '\\') index += 1;
      lastSize = 1;
      size += 1;
    }
  }
  return size;
}

function endOfCharacterClass(pattern: string, start: number): number {
  for (let index = start + 1; index < pattern.length; index++) {
    if (pattern[index] === '\\') index += 1;
    else if (pattern[index] === ']') return index;
  }
  return pattern.length;
}
