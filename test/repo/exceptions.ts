import { parseJson } from './sources.ts';

interface Override {
  readonly files: readonly string[];
  readonly rules: Readonly<Record<string, unknown>>;
}

/** One finding of oxlint. `code` has the form `plugin(rule)`. */
export interface Finding {
  readonly code: string;
  readonly filename: string;
}

function overrideProblem({ files, rules }: Override, findings: readonly Finding[]): string | undefined {
  const names = Object.keys(rules);
  const [file, ...otherFiles] = files;
  const [rule = '', ...otherRules] = names;
  if (otherFiles.length > 0 || otherRules.length > 0) return `${files.join()}: name one file and one rule`;
  const ruleName = rule.slice(rule.indexOf('/') + 1);
  const isNeeded = findings.some(({ code, filename }) => filename === file && code.endsWith(`(${ruleName})`));
  return isNeeded ? undefined : `${file}: the exception to ${rule} is no longer needed, remove it`;
}

/** Returns the files that the exceptions in `text` name. */
export function filesWithExceptions(text: string): string[] {
  return overridesIn(text).flatMap(({ files }) => files);
}

function overridesIn(text: string): readonly Override[] {
  return (parseJson(text) as { overrides: readonly Override[] }).overrides;
}

/**
 * Returns the problems of the exceptions in `text` (JSON with comment lines). An exception needs a reason above it, one
 * file, one rule, and a finding. `findings` are the findings of lint without the exceptions.
 */
export function exceptionProblems(text: string, findings: readonly Finding[]): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  const overrides = overridesIn(text);
  const startIndexes = lines.flatMap((line, index) => (line.includes('"files"') ? [index] : []));
  const lineAbove = (start: number): string => lines[lines[start - 1] === '{' ? start - 2 : start - 1] ?? '';
  const unexplainedIndexes = startIndexes.filter((start) => !/^\/\/ .{20,}/.test(lineAbove(start)));
  return [
    ...(startIndexes.length === overrides.length
      ? []
      : ['write "files" once in each exception, on a separate line']),
    ...unexplainedIndexes.map((start) => `there is no reason above ${lines[start]}`),
    ...overrides.flatMap((override) => overrideProblem(override, findings) ?? []),
  ];
}
