import type { FunctionOutcome, JobLimits } from '@heddle/sandbox';

/**
 * The allowed outcomes of an attack. A string is the exact JSON of the result, or the `JobErrorCode` of the
 * failure. A pattern matches the JSON, or `CODE name: message` of the failure. A list allows several outcomes, because
 * machines differ.
 */
export type ExpectedOutcome = string | RegExp | readonly (string | RegExp)[];

/** A hostile job, and its allowed outcomes. */
export interface Attack {
  /** Unique across all groups. */
  readonly id: string;
  readonly title: string;
  readonly code: string;
  /** Code of an earlier job in the same run and process. */
  readonly earlierCode?: string;
  readonly expected: ExpectedOutcome;
  /** Requires that the lists in the results of this job and of the earlier job share no element. */
  readonly requiresDistinctResults?: true;
  readonly limits?: Partial<JobLimits>;
  /** Values of the job's variables by name, besides `internalPort`, `externalPort` and `rawPort`. */
  readonly values?: Readonly<Record<string, unknown>>;
  /** Name of the image whose packages the job uses. */
  readonly image?: string;
  /** Required console output. */
  readonly stdout?: string | RegExp;
}

/**
 * Attacks of one kind, as a row of docs/sandbox-attacks.md. Titles and comments use the terms of that page: the guest
 * runtime is the sandbox's own code in the isolate of a job; the bridge passes messages between isolate and host.
 */
export interface AttackGroup {
  readonly name: string;
  readonly language: 'javascript' | 'python';
  readonly attacks: readonly Attack[];
}

/** Formats an outcome for comparison with `ExpectedOutcome`. */
export function formatOutcome(outcome: FunctionOutcome): { jsonOrCode: string; text: string } {
  if (outcome.ok) return { jsonOrCode: outcome.json, text: outcome.json };
  const { code, name, message } = outcome.error;
  return { jsonOrCode: code, text: `${code} ${name}: ${message}` };
}

/** Returns whether an outcome is expected. */
export function isExpected(outcome: FunctionOutcome, expected: ExpectedOutcome): boolean {
  const { jsonOrCode, text } = formatOutcome(outcome);
  const alternatives = Array.isArray(expected) ? (expected as readonly (string | RegExp)[]) : [expected];
  return alternatives.some((alternative) =>
    typeof alternative === 'string' ? alternative === jsonOrCode : (alternative as RegExp).test(text),
  );
}
