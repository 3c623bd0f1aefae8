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
  const needed = findings.some(({ code, filename }) => filename === file && code.endsWith(`(${ruleName})`));
  return needed ? undefined : `${file}: the exception to ${rule} is no longer needed, remove it`;
}

/** Returns the files that the exceptions in `text` name. */
export function exceptedFiles(text: string): string[] {
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
  const rows = text.split('\n').map((row) => row.trim());
  const overrides = overridesIn(text);
  const entries = rows.flatMap((row, index) => (row.includes('"files"') ? [index] : []));
  const lineAbove = (start: number): string => rows[rows[start - 1] === '{' ? start - 2 : start - 1] ?? '';
  const unexplained = entries.filter((start) => !/^\/\/ .{20,}/.test(lineAbove(start)));
  return [
    ...(entries.length === overrides.length
      ? []
      : ['write "files" once in each exception, on a separate line']),
    ...unexplained.map((start) => `there is no reason above ${rows[start]}`),
    ...overrides.flatMap((override) => overrideProblem(override, findings) ?? []),
  ];
}
