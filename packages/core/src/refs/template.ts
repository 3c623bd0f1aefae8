import type { Json } from '../json.ts';

/** A step of a path below a value: a key, or an index written in brackets. `null` index: malformed, resolves to empty. */
export type PathStep = string | { index: number | null };

/**
 * A reference `<head.path>` after compilation: an address, no longer a name.
 *
 * `text` is the authored form with its brackets, for messages.
 */
export type Reference =
  /** Output of a block. `up`: parallel branches to climb from the reader's scope; `into`: parallels to enter at branch 0. */
  | { kind: 'block'; text: string; block: string; up: number; into: string[]; path: PathStep[] }
  /** `index`, `currentItem`, `items` or the whole of a container around the reader; `up` as above. */
  | { kind: 'container'; text: string; block: string; up: number; field: 'index' | 'currentItem' | 'items' | 'all'; path: PathStep[] }
  /** `results` of a container that has ended (or of its earlier activation), or the whole `{results}`. */
  | { kind: 'results'; text: string; block: string; up: number; into: string[]; whole: boolean; path: PathStep[] }
  /** A workflow variable, by id. */
  | { kind: 'variable'; text: string; variable: string; path: PathStep[] }
  /** A path that can never be valid, for example `<loop.foo>`: fails the block with `message` when it is reached. */
  | { kind: 'invalid'; text: string; message: string };

/** A piece of authored text: plain, a reference, or an environment placeholder `{{NAME}}`. */
export type TextPart = string | { ref: Reference } | { env: string; text: string };

/** A compiled field value. Only authored text is ever a template: data that a part brings in is not looked at again. */
export type Template =
  | { kind: 'literal'; value: Json }
  /** `single`: the text is exactly one reference, so executors may ask for its native value. */
  | { kind: 'text'; parts: TextPart[] }
  | { kind: 'list'; items: Template[] }
  | { kind: 'object'; entries: [string, Template][] };

/** Where a value is bound into code: `name` is the identifier used in `code`. */
export type Binding = { name: string; ref: Reference } | { name: string; env: string };

/** Code of a function block with its references bound to identifiers, line structure kept. */
export interface CodeTemplate {
  language: 'javascript' | 'python' | 'shell';
  /** As authored, for error messages. */
  authored: string;
  /** With identifiers in place of references and placeholders. */
  code: string;
  bindings: Binding[];
}

/** One expression (a condition row, a while condition, a count), bound like code. */
export interface ExpressionTemplate {
  authored: string;
  code: string;
  bindings: Binding[];
}
