import type { ImageSpec } from './builder.ts';
import { toCanonicalEntry, refusalOf, type EntryKind } from './grammar.ts';

/** A problem with one entry of a specification. */
export interface SpecIssue {
  readonly field: 'language' | 'dependencies' | 'cliTools' | 'systemPackages';
  /** Position in the given list, from 1; 0 if the problem is the field itself. */
  readonly line: number;
  readonly value: string;
  readonly reason: string;
}

/** A parsed specification, or all its problems. */
export type SpecResult =
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
const MAX_SHOWN_CHARS = 200;

function createIssue(field: SpecIssue['field'], line: number, value: unknown, reason: string): SpecIssue {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'undefined');
  return { field, line, value: text.slice(0, MAX_SHOWN_CHARS), reason };
}

/** The list that is read, the kind of its entries, and where to add its problems. */
interface ListContext {
  readonly field: ListField;
  readonly kind: EntryKind;
  readonly issues: SpecIssue[];
}

/** Returns the non-empty lines with their positions; adds problems to `issues`. */
function readLines(value: unknown, { field, issues }: ListContext): [line: number, entry: string][] {
  if (value === undefined) return [];
  if (!Array.isArray(value) || value.length > MAX_LINES) {
    issues.push(createIssue(field, 0, '', `it is not a list of at most ${MAX_LINES} strings`));
    return [];
  }
  const lines: [number, string][] = [];
  for (const [index, rawLine] of value.entries()) {
    if (typeof rawLine !== 'string' || rawLine.length > MAX_LINE_CHARS) {
      issues.push(
        createIssue(field, index + 1, rawLine, `it is not a string of at most ${MAX_LINE_CHARS} characters`),
      );
      continue;
    }
    const entry = rawLine.trim();
    if (entry !== '' && !entry.startsWith('#')) lines.push([index + 1, entry]);
  }
  return lines;
}

/** Returns the canonical entries of one list; adds problems to `issues`. */
function readList(value: unknown, context: ListContext): string[] {
  const { field, kind, issues } = context;
  const lines = readLines(value, context);
  const firstExcessLine = lines[MAX_ENTRIES[field]];
  if (firstExcessLine !== undefined) {
    const [line, entry] = firstExcessLine;
    issues.push(createIssue(field, line, entry, `there are more than ${MAX_ENTRIES[field]} entries`));
  }
  const entries = new Set<string>();
  for (const [line, entry] of lines.slice(0, MAX_ENTRIES[field])) {
    const isDuplicate = field === 'cliTools' && entries.has(entry);
    const reason = isDuplicate
      ? 'it is listed twice'
      : entry.length > MAX_ENTRY_CHARS
        ? `it has more than ${MAX_ENTRY_CHARS} characters`
        : refusalOf(entry, kind);
    if (reason !== undefined) issues.push(createIssue(field, line, entry, reason));
    else entries.add(toCanonicalEntry(entry, kind));
  }
  return [...entries].sort();
}

/** Parses a specification to canonical form, or returns all issues, each with its position. `value` is untrusted. */
export function readSpec(value: unknown): SpecResult {
  const fields = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  const issues: SpecIssue[] = [];
  const { language } = fields;
  if (language !== 'javascript' && language !== 'python') {
    const reason = 'it is neither javascript nor python';
    return { ok: false, issues: [createIssue('language', 0, language, reason)] };
  }
  const spec: ImageSpec = {
    language,
    dependencies: readList(fields['dependencies'], { field: 'dependencies', kind: language, issues }),
    cliTools: readList(fields['cliTools'], { field: 'cliTools', kind: 'cliTools', issues }),
    systemPackages: readList(fields['systemPackages'], {
      field: 'systemPackages',
      kind: 'systemPackages',
      issues,
    }),
  };
  if (
    issues.length === 0 &&
    spec.dependencies.length + spec.cliTools.length + spec.systemPackages.length === 0
  )
    issues.push(createIssue('dependencies', 0, '', 'the specification is empty'));
  return issues.length > 0 ? { ok: false, issues } : { ok: true, spec };
}
