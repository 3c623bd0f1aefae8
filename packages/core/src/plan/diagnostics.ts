/** `error`: the workflow is refused; `warning`: it runs. */
export type Severity = 'error' | 'warning';

/** One finding of parse, check or compile: data, never thrown. */
export interface Diagnostic {
  /** Stable name of the kind of finding, for example `REFERENCE_UNKNOWN_BLOCK`; every code has a heading in docs/errors.md. */
  code: string;
  severity: Severity;
  blockId?: string;
  /** Where in the input: keys and indexes from the root of the workflow state. */
  path: (string | number)[];
  /** What is wrong, and with which thing. */
  message: string;
  /** What to do about it. */
  hint: string;
}

interface Code {
  severity: Severity;
  /** One line, for the list of codes. */
  about: string;
}

const error = (about: string): Code => ({ severity: 'error', about });
const warning = (about: string): Code => ({ severity: 'warning', about });

/** Every code of a diagnostic, with its usual severity and what it says. docs/errors.md has a heading for each. */
export const DIAGNOSTIC_CODES = {
  JSON_INVALID: error('The text is not JSON.'),
  INPUT_SHAPE: error('A part of the workflow is missing or has the wrong type.'),
  INPUT_TOO_DEEP: error('Values are nested deeper than a workflow may be.'),
  INPUT_TOO_LARGE: error('The workflow has more text, values, blocks or edges than a workflow may have.'),
  KEY_FORBIDDEN: error('An object has a key that no workflow may use.'),
  BLOCK_ID_MISMATCH: error('A block stands under a key that is not its id.'),
  FIELD_DROPPED: warning('A malformed field of a block is ignored.'),
  NAME_MISSING: warning('A block has no name and goes by its id.'),
  DIAGNOSTICS_MORE: warning('There are more findings than are listed.'),
  VARIABLE_TYPE_UNKNOWN: warning('A variable has a type that does not exist and is read as a string.'),

  START_MISSING: error('No enabled block can start a run.'),
  START_AMBIGUOUS: warning('Several blocks are equally good as the default start.'),
  START_FIELD_RESERVED: error('A field of the input format has a name that controls runs.'),
  BLOCK_TYPE_UNKNOWN: warning('Nothing that is registered runs blocks of this type.'),
  BLOCK_UNREACHABLE: warning('No path leads from a start to the block, so it never runs.'),
  EDGE_TO_NOWHERE: error('An edge names a block that does not exist.'),
  EDGE_TO_SELF: error('An edge leads from a block to itself.'),
  EDGE_ACROSS_SCOPES: warning('An edge joins blocks of different containers and is ignored.'),
  PORT_UNKNOWN: warning('An edge leaves by a port that its block does not have.'),
  CYCLE: error('Blocks wait for each other in a circle.'),
  PARENT_MISSING: warning('The container that a block names does not exist, or is no container.'),
  PARENT_CYCLE: error('Containers stand inside each other in a circle.'),
  NESTING_TOO_DEEP: error('Containers are nested deeper than they may be.'),
  CONTAINER_EMPTY: error('A container has no block inside that can run.'),
  CONTAINER_MAP_USED: warning(
    'What a container holds was taken from the stored map, the blocks do not say it.',
  ),
  CONTAINER_MAP_DIFFERS: warning('The stored map of a container disagrees with its block; the block counts.'),

  NAME_RESERVED: error('A block has a name that references use for something else.'),
  NAME_DUPLICATE: warning('Two blocks, or two variables, have names that references cannot tell apart.'),
  NAME_UNUSABLE: warning('The name of a block cannot be written in a reference.'),
  REFERENCE_UNKNOWN_BLOCK: error('A reference names no block.'),
  REFERENCE_UNKNOWN_VARIABLE: error('A reference names no variable.'),
  REFERENCE_QUOTED: warning('A reference stands inside quotes in an expression.'),
  REFERENCE_HTML_NAME: warning(
    'A tag is both an HTML element and the name of a block, and is read as the block.',
  ),
  REFERENCE_NEVER_RAN: warning('A reference names a block that cannot have run before its reader.'),
  REFERENCE_UNDECLARED_OUTPUT: warning('A reference names an output that its block does not declare.'),
  REFERENCE_INVALID: warning('A reference has a path that can never be resolved.'),

  FIELD_REQUIRED: error('A field that the block needs is empty.'),
  FIELD_EMPTY: warning('A field is empty, and the block fails or does nothing when it is reached.'),
  FIELD_NOT_JSON: warning('A field that its block reads as JSON holds none, and stays text.'),
  FIELD_UNKNOWN: warning(
    'A field or key is close to the name of one that the block reads, and is not read itself.',
  ),
  FIELD_VALUE: warning('A field holds a value that the block does not take.'),
  SYNTAX_INVALID: warning('Code, a condition or a count is no valid JavaScript.'),
  LANGUAGE_UNKNOWN: error('A function block names a language that does not exist.'),
  CONDITIONS_UNREADABLE: warning(
    'The rows of a condition cannot be read; the block fails when it is reached.',
  ),
  CONDITION_ROW: warning('A row of a condition can never be chosen.'),
  ROUTES_UNREADABLE: warning('The routes of a router cannot be read; the block fails when it is reached.'),
  LOOP_TYPE_UNKNOWN: error('A loop has a type that does not exist.'),
  PARALLEL_TYPE_UNKNOWN: warning(
    'A parallel has a type that does not exist and is read as one over a collection.',
  ),
  COUNT_INVALID: error('A count is no whole number of at least 1.'),
  COUNT_DEFAULTED: warning('A count is absent or 0 and is read as 5.'),
  COUNT_OVER_LIMIT: warning('A container has more turns or branches than a run may have.'),
  COLLECTION_INVALID: warning('A collection is no list; the container fails when it is reached.'),
  LOOP_CONDITION_MISSING: warning('A loop with a condition has none.'),
  BATCH_SIZE_CLAMPED: warning('A batch size is out of range and was brought into it.'),
  RETRY_CLAMPED: warning('A retry setting is out of range and was brought into it.'),
  RETRY_IGNORED: warning('A block that cannot be retried has a retry policy.'),
  TIMEOUT_INVALID: error('A time limit is no positive number of milliseconds.'),
} as const satisfies { [code: string]: Code };

export type DiagnosticCode = keyof typeof DIAGNOSTIC_CODES;

/** What a finding says beside its code. */
export interface DiagnosticDetails {
  blockId?: string;
  path: (string | number)[];
  message: string;
  hint: string;
  /** Where it differs from the code's usual one. */
  severity?: Severity;
}

/** A diagnostic of `code`, with the code's usual severity unless the finding brings its own. */
export function diagnostic(code: DiagnosticCode, finding: DiagnosticDetails): Diagnostic {
  const { blockId, path, message, hint, severity = DIAGNOSTIC_CODES[code].severity } = finding;
  return { code, severity, ...(blockId !== undefined && { blockId }), path, message, hint };
}

/** True when one of them is an error. */
export function hasErrors(diagnostics: readonly Diagnostic[]): boolean {
  return diagnostics.some((each) => each.severity === 'error');
}

/** Diagnostics of one severity that are kept with their text. The others are counted. */
const MOST_DIAGNOSTICS = 500;

/** Longer messages and hints are cut: they quote values of the input. */
const TEXT_CHARS = 1000;

/** Takes diagnostics one by one, as an array does. */
export interface DiagnosticSink {
  push(found: Diagnostic): void;
}

/** Diagnostics without repetitions, at most MOST_DIAGNOSTICS of each severity; a last one counts the others by code. */
export class DiagnosticList implements DiagnosticSink {
  readonly #kept = new Map<string, Diagnostic>();
  readonly #counts: Record<Severity, number> = { error: 0, warning: 0 };
  readonly #more = new Map<string, number>();
  #moreErrors = false;

  push(found: Diagnostic): void {
    const each = { ...found, message: cut(found.message), hint: cut(found.hint) };
    const key = JSON.stringify([each.severity, each.path, each.code, each.message]);
    if (this.#kept.has(key)) return;
    if (this.#counts[each.severity] < MOST_DIAGNOSTICS) {
      this.#counts[each.severity]++;
      this.#kept.set(key, each);
      return;
    }
    this.#more.set(each.code, (this.#more.get(each.code) ?? 0) + 1);
    this.#moreErrors ||= each.severity === 'error';
  }

  /** True when one of them is an error. */
  get hasErrors(): boolean {
    return this.#counts.error > 0;
  }

  /** In the order in which they were found. */
  all(): Diagnostic[] {
    return [...this.#kept.values(), ...this.#rest()];
  }

  /** Errors first, then by place: equal for every order of keys in the input. */
  inOrder(): Diagnostic[] {
    const sorted = [...this.#kept].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return [...sorted.map(([, each]) => each), ...this.#rest()];
  }

  /** The diagnostic that counts those that were not kept, last of all. */
  #rest(): Diagnostic[] {
    if (this.#more.size === 0) return [];
    const codes = [...this.#more].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const count = codes.reduce((sum, [, each]) => sum + each, 0);
    const rest = diagnostic('DIAGNOSTICS_MORE', {
      path: [],
      message: `And ${count} more: ${codes.map(([code, each]) => `${code} (${each})`).join(', ')}.`,
      hint: 'Correct the ones above, then check again.',
      severity: this.#moreErrors ? 'error' : 'warning',
    });
    return [rest];
  }
}

function cut(text: string): string {
  return text.length > TEXT_CHARS ? `${text.slice(0, TEXT_CHARS - 1)}…` : text;
}
