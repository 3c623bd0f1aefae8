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
