import type { FunctionOutcome, JobLimits } from '@heddle/sandbox';

/**
 * The allowed outcomes of an attack. A string is the exact JSON of the result, or the `SandboxErrorCode` of the
 * failure. A pattern matches the JSON, or `CODE name: message` of the failure. A list allows several outcomes, because
 * machines differ.
 */
export type Expected = string | RegExp | readonly (string | RegExp)[];

/** A hostile job, and its allowed outcomes. */
export interface Attack {
  /** Unique across all groups. */
  readonly id: string;
  readonly title: string;
  readonly code: string;
  /** Code of an earlier job in the same run and process. */
  readonly before?: string;
  readonly expected: Expected;
  /** The list in its result must share no element with the list in the result of the earlier job. */
  readonly isFresh?: true;
  readonly limits?: Partial<JobLimits>;
  /** Identifier → value, besides `internalPort`, `outerPort` and `rawPort`. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** The image of packages that the job runs with. */
  readonly image?: string;
  /** Required console output. */
  readonly stdout?: string | RegExp;
}

/** Attacks of one kind, as a row of docs/sandbox-attacks.md. */
export interface AttackGroup {
  readonly name: string;
  readonly language: 'javascript' | 'python';
  readonly attacks: readonly Attack[];
}

/** Formats an outcome for comparison with `Expected`. */
export function formatOutcome(outcome: FunctionOutcome): { exact: string; text: string } {
  if (outcome.ok) return { exact: outcome.json, text: outcome.json };
  const { code, name, message } = outcome.error;
  return { exact: code, text: `${code} ${name}: ${message}` };
}

/** Returns whether an outcome is expected. */
export function isExpected(outcome: FunctionOutcome, expected: Expected): boolean {
  const { exact, text } = formatOutcome(outcome);
  const options = Array.isArray(expected) ? (expected as readonly (string | RegExp)[]) : [expected];
  return options.some((one) => (typeof one === 'string' ? one === exact : (one as RegExp).test(text)));
}
