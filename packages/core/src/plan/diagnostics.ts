/** `error`: the workflow is refused. `warning`: it runs. */
export type Severity = 'error' | 'warning';

/** A problem found by parse, check or compile. Diagnostics are returned, never thrown. */
export interface Diagnostic {
  /** Stable code, for example `REFERENCE_UNKNOWN_BLOCK`. docs/errors.md has a heading for each code. */
  code: string;
  severity: Severity;
  blockId?: string;
  /** Position in the input: keys and indexes from the root of the workflow state. */
  path: (string | number)[];
  /** Position in the text at `path`: from 1, in UTF-16 units. The column is absent if unknown. */
  line?: number;
  column?: number;
  /** The problem and its location. */
  message: string;
  /** How to correct the problem. */
  hint: string;
}

interface CodeInfo {
  severity: Severity;
  /** One line for the list of codes. */
  description: string;
}

const error = (description: string): CodeInfo => ({ severity: 'error', description });
const warning = (description: string): CodeInfo => ({ severity: 'warning', description });

/** All codes of diagnostics, with default severity and description. docs/errors.md has a heading for each. */
export const DIAGNOSTIC_CODES = {
  JSON_INVALID: error('The text is not JSON.'),
  INPUT_SHAPE: error('A part of the workflow is missing or has the wrong type.'),
  INPUT_TOO_DEEP: error('Values are nested more deeply than allowed.'),
  INPUT_TOO_LARGE: error('The workflow has more text, values, blocks or edges than allowed.'),
  KEY_FORBIDDEN: error('An object has a key that is not allowed.'),
  BLOCK_ID_MISMATCH: error('The key of a block differs from its id.'),
  FIELD_DROPPED: warning('A malformed field of a block is ignored.'),
  NAME_MISSING: warning('A block has no name; its id is used.'),
  DIAGNOSTICS_MORE: warning('There are more diagnostics than are listed.'),
  VARIABLE_TYPE_UNKNOWN: warning('A variable has an unknown type and is read as a string.'),

  START_MISSING: error('No enabled block can start a run.'),
  START_AMBIGUOUS: warning('Several blocks qualify equally as the default start.'),
  START_FIELD_RESERVED: error('A field of the input format has a reserved name.'),
  BLOCK_TYPE_UNKNOWN: warning('No executor is registered for blocks of this type.'),
  FEATURE_MISSING: warning(
    'A block uses files or knowledge bases of the workspace, which this host does not store.',
  ),
  TRIGGER_NOT_FIRED: warning('This host does not fire triggers of this type.'),
  TRIGGER_UNSAFE: warning('Senders other than the intended one can fire a trigger.'),
  TRIGGER_INVALID: warning('A field of a trigger has an invalid value, so the trigger cannot fire.'),
  BLOCK_UNREACHABLE: warning('No path leads from a start to the block, so it never runs.'),
  EDGE_TO_NOWHERE: error('An edge refers to a block that does not exist.'),
  EDGE_TO_SELF: error('An edge leads from a block to itself.'),
  EDGE_ACROSS_SCOPES: warning('An edge connects blocks of different containers and is ignored.'),
  PORT_UNKNOWN: warning('An edge leaves by a port that its block does not have.'),
  CYCLE: error('Blocks form a cycle.'),
  PARENT_MISSING: warning('The container of a block does not exist, or is not a container.'),
  PARENT_CYCLE: error('Containers form a cycle.'),
  NESTING_TOO_DEEP: error('Containers are nested more deeply than allowed.'),
  CONTAINER_EMPTY: error('A container has no block inside that can run.'),
  CONTAINER_MAP_USED: warning(
    'The content of a container was taken from the stored map, because its blocks do not name it.',
  ),
  CONTAINER_MAP_DIFFERS: warning('The stored map of a container differs from its block; the block is used.'),

  NAME_RESERVED: error('A block has a reserved name.'),
  NAME_DUPLICATE: warning('Two blocks, or two variables, have names that are equal in references.'),
  NAME_UNUSABLE: warning('The name of a block cannot be written in a reference.'),
  REFERENCE_UNKNOWN_BLOCK: error('A reference names an unknown block.'),
  REFERENCE_UNKNOWN_VARIABLE: error('A reference names an unknown variable.'),
  REFERENCE_QUOTED: warning('A reference is inside quotes in an expression.'),
  REFERENCE_HTML_NAME: warning('A tag is an HTML element and the name of a block, and is read as the block.'),
  REFERENCE_NEVER_RAN: warning(
    'A reference names a block that cannot have run before the block with the reference.',
  ),
  REFERENCE_UNDECLARED_OUTPUT: warning('A reference names an output that its block does not declare.'),
  REFERENCE_INVALID: warning('A reference has a path that never resolves.'),

  FIELD_REQUIRED: error('A required field is empty.'),
  FIELD_EMPTY: warning('A field is empty, and the block fails or does nothing when it is reached.'),
  FIELD_NOT_JSON: warning('A field that its block reads as JSON is not JSON, and stays text.'),
  FIELD_UNKNOWN: warning('A field or key is not known, and similar to one that the block reads.'),
  FIELD_VALUE: warning('A field has a value that the block does not accept.'),
  SYNTAX_INVALID: warning('Code, a condition or a count is not valid JavaScript.'),
  LANGUAGE_UNKNOWN: error('A function block has an unknown language.'),
  CONDITIONS_UNREADABLE: warning(
    'The rows of a condition cannot be read; the block fails when it is reached.',
  ),
  CONDITION_ROW: warning('A row of a condition can never be chosen.'),
  ROUTES_UNREADABLE: warning('The routes of a router cannot be read; the block fails when it is reached.'),
  LOOP_TYPE_UNKNOWN: error('A loop has an unknown type.'),
  PARALLEL_TYPE_UNKNOWN: warning('A parallel has an unknown type and runs over its collection.'),
  COUNT_INVALID: error('A count is not a whole number of at least 1.'),
  COUNT_DEFAULTED: warning('A count is absent or 0, and 5 is used.'),
  COUNT_OVER_LIMIT: warning('A container has more iterations or branches than a run allows.'),
  COLLECTION_INVALID: warning('A collection is not a list; the container fails when it is reached.'),
  LOOP_CONDITION_MISSING: warning('A while or doWhile loop has no condition.'),
  BATCH_SIZE_CLAMPED: warning('A batch size is out of range; it is clamped to the nearest allowed value.'),
  RETRY_CLAMPED: warning('A retry setting is out of range; it is clamped to the nearest allowed value.'),
  RETRY_IGNORED: warning('A block that cannot be retried has a retry policy.'),
  TIMEOUT_INVALID: error('A timeout is not a positive number of milliseconds.'),
} as const satisfies { [code: string]: CodeInfo };

export type DiagnosticCode = keyof typeof DIAGNOSTIC_CODES;

/** The content of a diagnostic besides its code. */
export interface DiagnosticDetails {
  blockId?: string;
  path: (string | number)[];
  line?: number;
  column?: number;
  message: string;
  hint: string;
  /** Defaults to the severity of the code. */
  severity?: Severity;
}

/** Returns a diagnostic of `code`. The severity of the code is the default. */
export function diagnostic(code: DiagnosticCode, details: DiagnosticDetails): Diagnostic {
  const { blockId, path, line, column, message, hint } = details;
  return {
    code,
    severity: details.severity ?? DIAGNOSTIC_CODES[code].severity,
    ...(blockId !== undefined && { blockId }),
    path,
    ...(line !== undefined && { line }),
    ...(column !== undefined && { column }),
    message,
    hint,
  };
}

/** Returns true if any diagnostic is an error. */
export function hasErrors(diagnostics: readonly Diagnostic[]): boolean {
  return diagnostics.some((item) => item.severity === 'error');
}

/** Maximum number of stored diagnostics per severity; further ones are only counted. */
const MAX_DIAGNOSTICS = 500;

/** Maximum length of messages and hints, which quote values of the input. Longer ones are truncated. */
const MAX_TEXT_CHARS = 1000;

/** Receives diagnostics one by one, like an array. */
export interface DiagnosticSink {
  push(item: Diagnostic): void;
}

/**
 * Collects diagnostics without duplicates, at most MAX_DIAGNOSTICS of each severity. A final diagnostic counts the
 * discarded ones by code.
 */
export class DiagnosticList implements DiagnosticSink {
  readonly #items = new Map<string, Diagnostic>();
  readonly #counts: Record<Severity, number> = { error: 0, warning: 0 };
  readonly #discardedCounts = new Map<string, number>();
  #hasDiscardedErrors = false;

  push(item: Diagnostic): void {
    const { code, severity, path } = item;
    const message = truncate(item.message);
    const key = JSON.stringify([severity, path, code, message]);
    if (this.#items.has(key)) return;
    if (this.#counts[severity] < MAX_DIAGNOSTICS) {
      this.#counts[severity]++;
      this.#items.set(key, { ...item, message, hint: truncate(item.hint) });
      return;
    }
    this.#discardedCounts.set(code, (this.#discardedCounts.get(code) ?? 0) + 1);
    this.#hasDiscardedErrors ||= severity === 'error';
  }

  /** True if any diagnostic is an error. */
  get hasErrors(): boolean {
    return this.#counts.error > 0;
  }

  /** Returns the diagnostics in the order of `push`. */
  all(): Diagnostic[] {
    return [...this.#items.values(), ...this.#summary()];
  }

  /** Returns the diagnostics, errors first, then by path, independent of the key order of the input. */
  allSorted(): Diagnostic[] {
    const sortedEntries = [...this.#items].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return [...sortedEntries.map(([, diagnostic]) => diagnostic), ...this.#summary()];
  }

  /** Returns the last diagnostic, which counts the discarded ones; nothing if none were discarded. */
  #summary(): Diagnostic[] {
    if (this.#discardedCounts.size === 0) return [];
    const codes = [...this.#discardedCounts].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const count = codes.reduce((sum, [, codeCount]) => sum + codeCount, 0);
    const summary = diagnostic('DIAGNOSTICS_MORE', {
      path: [],
      message: `And ${count} more: ${codes.map(([code, codeCount]) => `${code} (${codeCount})`).join(', ')}.`,
      hint: 'Correct the ones above, then check again.',
      severity: this.#hasDiscardedErrors ? 'error' : 'warning',
    });
    return [summary];
  }
}

function truncate(text: string): string {
  return text.length > MAX_TEXT_CHARS ? `${text.slice(0, MAX_TEXT_CHARS - 1)}…` : text;
}
