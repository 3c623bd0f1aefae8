import type { Json } from '../json.ts';

/** A step of a path: a key, or an index in brackets. A `null` index is malformed and resolves to empty. */
export type PathStep = string | { index: number | null };

/**
 * A compiled reference `<root.path>`, with the id of the block or variable instead of its name. Plans are stored and
 * hashed, so the keys here do not change.
 *
 * `text` is the authored form with its brackets, for messages. `up` is the number of parallel branches to leave, from
 * the referencing block outward. `into` has the ids of the parallels to enter from there, at
 * branch 0. For a container around the referencing block, `up` leads to its iteration or branch: it is 0 for the
 * innermost parallel. `generic`: written `<loop…>` or `<parallel…>`. If a generic reference has no value, its text
 * stays.
 */
export type Reference =
  /** Output of a block. */
  | { kind: 'block'; text: string; block: string; up: number; into: string[]; path: PathStep[] }
  /** `index`, `currentItem`, `items` or all of a container around the referencing block. */
  | {
      kind: 'container';
      text: string;
      block: string;
      up: number;
      field: ContainerField;
      path: PathStep[];
      generic?: true;
    }
  /** `results` of a container that has ended (or of its previous execution), or the whole `{results}`. */
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

/** A piece of authored text: plain text, a reference, or an environment placeholder `{{NAME}}`. */
export type TextPart = string | { ref: Reference } | { env: string; text: string };

/** A compiled field value. References are found only in authored text, never in the values that replace them. */
export type Template =
  | { kind: 'literal'; value: Json }
  /** If the only part is a reference, the text is exactly that reference, and executors may read its native value. */
  | { kind: 'text'; parts: TextPart[] }
  | { kind: 'list'; items: Template[] }
  | { kind: 'object'; entries: [string, Template][] };

/**
 * A value bound into code: `name` is the identifier in `code`, `form` the meaning of its value.
 *
 * Forms of a reference: `value` the value itself, null if empty · `loop` the same, but the strings "true" and "false"
 * are booleans · `json` its JSON text, a string · `pattern` a string used as regular expression source · `quoted` a
 * string, for a reference inside quotes of a condition or loop expression: the value is written as a literal, and the
 * escapes in this literal are decoded.
 *
 * Forms of a placeholder: `text` a string · `literal` a number, boolean or null if the text is one, else a string. The
 * property `text` is the authored form, which is the value if the name is unknown. If the placeholder is also `bare`
 * (outside quotes), the authored form replaces the identifier in the code.
 */
export type Binding =
  | { name: string; ref: Reference; form: 'value' | 'loop' | 'json' | 'pattern' }
  | { name: string; ref: Reference; form: 'quoted'; quote: Quote; kind: ExpressionKind }
  | { name: string; env: string; text: string; form: 'text' | 'literal'; bare: boolean };

export type Quote = '"' | "'" | '`';

/** `condition`: a row of a condition block. `loop`: a while or doWhile condition, or a count. */
export type ExpressionKind = 'condition' | 'loop';

/** Code of a function block with its references bound to identifiers. Line numbers are those of the authored code. */
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
 * `code` has no comments, trailing semicolon or surrounding spaces; '' for an empty expression.
 */
export interface ExpressionTemplate {
  authored: string;
  code: string;
  bindings: Binding[];
}

/** Returns all references in order, including duplicates. */
export function referencesIn(template: Template | CodeTemplate | ExpressionTemplate): Reference[] {
  return partsIn(template).flatMap((part) => (typeof part !== 'string' && 'ref' in part ? [part.ref] : []));
}

/** Returns the names of all environment placeholders in order, without duplicates. */
export function envNamesIn(template: Template | CodeTemplate | ExpressionTemplate): string[] {
  const names = partsIn(template).flatMap((part) =>
    typeof part !== 'string' && 'env' in part ? [part.env] : [],
  );
  return [...new Set(names)];
}

/** Returns the authored value of a field, with references and placeholders as unresolved text. */
export function authoredValue(template: Template): Json;
export function authoredValue(template: Template | undefined): Json | undefined;
export function authoredValue(template: Template | undefined): Json | undefined {
  switch (template?.kind) {
    case undefined:
      return undefined;
    case 'literal':
      return template.value;
    case 'text':
      return template.parts.map(authoredText).join('');
    case 'list':
      return template.items.map((item) => authoredValue(item));
    case 'object':
      return Object.fromEntries(template.entries.map(([key, value]) => [key, authoredValue(value)]));
  }
}

function authoredText(part: TextPart): string {
  if (typeof part === 'string') return part;
  return 'ref' in part ? part.ref.text : part.text;
}

type Part = TextPart | CodeTemplate['bindings'][number];

function partsIn(template: Template | CodeTemplate | ExpressionTemplate): Part[] {
  if ('bindings' in template) return template.bindings;
  switch (template.kind) {
    case 'literal':
      return [];
    case 'text':
      return template.parts;
    case 'list':
      return template.items.flatMap(partsIn);
    case 'object':
      return template.entries.flatMap(([, item]) => partsIn(item));
  }
}
