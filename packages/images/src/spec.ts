import type { ImageSpec } from './builder.ts';
import { canonicalEntry, refusal, type Grammar } from './grammar.ts';

/** What is wrong with one entry of a spec. */
export interface SpecIssue {
  readonly field: 'language' | 'dependencies' | 'cliTools' | 'systemPackages';
  /** Position in the list that was given, from 1; 0 where the field itself is at fault. */
  readonly line: number;
  readonly value: string;
  readonly reason: string;
}

/** A spec that was read, or everything that is wrong with it. */
export type ReadSpec =
  | { readonly ok: true; readonly spec: ImageSpec }
  | { readonly ok: false; readonly issues: readonly SpecIssue[] };

type ListField = Exclude<SpecIssue['field'], 'language'>;

const MAX_LINES = 1_000;
const MAX_LINE_CHARS = 2_000;
const MAX_ENTRY_CHARS = 200;
const MAX_ENTRIES: Readonly<Record<ListField, number>> = {
  dependencies: 50,
  cliTools: 10,
  systemPackages: 50,
};
const SHOWN_CHARS = 200;

function issue(field: SpecIssue['field'], line: number, value: unknown, reason: string): SpecIssue {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined');
  return { field, line, value: text.slice(0, SHOWN_CHARS), reason };
}

interface List {
  readonly field: ListField;
  readonly grammar: Grammar;
  readonly issues: SpecIssue[];
}

/** The lines that count, with their positions; what is wrong goes to `issues`. */
function readLines(value: unknown, { field, issues }: List): [line: number, entry: string][] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length > MAX_LINES) {
    issues.push(issue(field, 0, '', `it is no list of at most ${MAX_LINES} texts`));
    return [];
  }
  const lines: [number, string][] = [];
  for (const [index, raw] of value.entries()) {
    if (typeof raw !== 'string' || raw.length > MAX_LINE_CHARS) {
      issues.push(issue(field, index + 1, raw, `it is no text of at most ${MAX_LINE_CHARS} characters`));
      continue;
    }
    const entry = raw.trim();
    if (entry !== '' && !entry.startsWith('#')) lines.push([index + 1, entry]);
  }
  return lines;
}

/** The canonical entries of one list; what is wrong goes to `issues`. */
function readList(value: unknown, list: List): string[] {
  const { field, grammar, issues } = list;
  const lines = readLines(value, list);
  const over = lines[MAX_ENTRIES[field]];
  if (over !== undefined)
    issues.push(issue(field, over[0], over[1], `there are more than ${MAX_ENTRIES[field]} entries`));
  const entries = new Set<string>();
  for (const [line, entry] of lines.slice(0, MAX_ENTRIES[field])) {
    const isDouble = field === 'cliTools' && entries.has(entry);
    const reason = isDouble
      ? 'it is named twice'
      : entry.length > MAX_ENTRY_CHARS
        ? `it has more than ${MAX_ENTRY_CHARS} characters`
        : refusal(entry, grammar);
    if (reason !== null) issues.push(issue(field, line, entry, reason));
    else entries.add(canonicalEntry(entry, grammar));
  }
  return [...entries].sort();
}

/** The spec in canonical form, or all its issues, each addressed to its entry. `value` is data from outside. */
export function readSpec(value: unknown): ReadSpec {
  const fields = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  const issues: SpecIssue[] = [];
  const { language } = fields;
  if (language !== 'javascript' && language !== 'python') {
    return { ok: false, issues: [issue('language', 0, language, 'it is neither javascript nor python')] };
  }
  const spec: ImageSpec = {
    language,
    dependencies: readList(fields['dependencies'], { field: 'dependencies', grammar: language, issues }),
    cliTools: readList(fields['cliTools'], { field: 'cliTools', grammar: 'cliTools', issues }),
    systemPackages: readList(fields['systemPackages'], {
      field: 'systemPackages',
      grammar: 'systemPackages',
      issues,
    }),
  };
  if (
    issues.length === 0 &&
    spec.dependencies.length + spec.cliTools.length + spec.systemPackages.length === 0
  )
    issues.push(issue('dependencies', 0, '', 'the spec names nothing to install'));
  return issues.length > 0 ? { ok: false, issues } : { ok: true, spec };
}
