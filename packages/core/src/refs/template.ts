import type { Json } from '../json.ts';

/** A step of a path below a value: a key, or an index written in brackets. `null` index: malformed, resolves to empty. */
export type PathStep = string | { index: number | null };

/**
 * A reference `<head.path>` after compilation: an address, no longer a name.
 *
 * `text` is the authored form with its brackets, for messages. `up`: parallel branches to leave from the reader's
 * scope; `into`: parallels to enter at branch 0 from there. For a container around the reader `up` leads to the turn
 * or branch of that container itself, so the branch number of the parallel right around the reader has `up: 0`.
 * `generic`: written `<loop…>` or `<parallel…>`; where such a reference has no value its text stays in place.
 */
export type Reference =
  /** Output of a block. */
  | { kind: 'block'; text: string; block: string; up: number; into: string[]; path: PathStep[] }
  /** `index`, `currentItem`, `items` or the whole of a container around the reader. */
  | {
      kind: 'container';
      text: string;
      block: string;
      up: number;
      field: ContainerField;
      path: PathStep[];
      generic?: true;
    }
  /** `results` of a container that has ended (or of its earlier activation), or the whole `{results}`. */
  | {
      kind: 'results';
      text: string;
      block: string;
      up: number;
      into: string[];
      whole: boolean;
      path: PathStep[];
      generic?: true;
    }
  /** A workflow variable, by id. */
  | { kind: 'variable'; text: string; variable: string; path: PathStep[] }
  /** A path that can never be valid, for example `<loop.foo>`: fails the block with `message` when it is reached. */
  | { kind: 'invalid'; text: string; message: string };

export type ContainerField = 'index' | 'currentItem' | 'items' | 'all';

/** A piece of authored text: plain, a reference, or an environment placeholder `{{NAME}}`. */
export type TextPart = string | { ref: Reference } | { env: string; text: string };

/** A compiled field value. Only authored text is ever a template: data that a part brings in is not looked at again. */
export type Template =
  | { kind: 'literal'; value: Json }
  /** One part that is a reference: the text is exactly that reference, so executors may ask for its native value. */
  | { kind: 'text'; parts: TextPart[] }
  | { kind: 'list'; items: Template[] }
  | { kind: 'object'; entries: [string, Template][] };

/**
 * Where a value is bound into code: `name` is the identifier used in `code`, `form` what stands behind it.
 *
 * A reference: `value` the value itself, null when empty · `loop` the same, but the strings "true" and "false" are
 * booleans · `json` its JSON text, a string · `pattern` a string used as regular expression source · `quoted` the
 * string that a literal of this `quote` around the reference means in a condition or loop expression.
 * A placeholder: `text` always a string · `literal` a number, boolean or null where the text is one. `text` is the
 * authored form; it comes back when the name is unknown, into the code itself when the placeholder is `bare`.
 */
export type Binding =
  | { name: string; ref: Reference; form: 'value' | 'loop' | 'json' | 'pattern' }
  | { name: string; ref: Reference; form: 'quoted'; quote: Quote; kind: ExpressionKind }
  | { name: string; env: string; text: string; form: 'text' | 'literal'; bare: boolean };

export type Quote = '"' | "'" | '`';

/** `condition`: a row of a condition block. `loop`: a while or doWhile condition, or a count. */
export type ExpressionKind = 'condition' | 'loop';

/** Code of a function block with its references bound to identifiers, line structure kept. */
export interface CodeTemplate {
  language: 'javascript' | 'python' | 'shell';
  /** As authored, for error messages. */
  authored: string;
  /** With identifiers in place of references and placeholders. */
  code: string;
  bindings: Binding[];
}

/**
 * One expression (a condition row, a while condition, a count), bound like code.
 *
 * `code` has no comments, no trailing semicolon and no spaces around it; '' when nothing is written there.
 */
export interface ExpressionTemplate {
  authored: string;
  code: string;
  bindings: Binding[];
}

/** Every reference in it, in order, repetitions included. */
export function referencesIn(compiled: Template | CodeTemplate | ExpressionTemplate): Reference[] {
  return partsIn(compiled).flatMap((part) => (typeof part !== 'string' && 'ref' in part ? [part.ref] : []));
}

/** Every name of an environment placeholder in it, in order, each once. */
export function envNamesIn(compiled: Template | CodeTemplate | ExpressionTemplate): string[] {
  const names = partsIn(compiled).flatMap((part) =>
    typeof part !== 'string' && 'env' in part ? [part.env] : [],
  );
  return [...new Set(names)];
}

type Part = TextPart | CodeTemplate['bindings'][number];

function partsIn(compiled: Template | CodeTemplate | ExpressionTemplate): Part[] {
  if ('bindings' in compiled) return compiled.bindings;
  switch (compiled.kind) {
    case 'literal':
      return [];
    case 'text':
      return compiled.parts;
    case 'list':
      return compiled.items.flatMap(partsIn);
    case 'object':
      return compiled.entries.flatMap(([, item]) => partsIn(item));
  }
}
