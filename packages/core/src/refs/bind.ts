import { BlockError } from '../errors.ts';
import type { Json } from '../json.ts';
import type { Lookup } from './lookup.ts';
import { evaluateReference, resolveReference } from './resolve.ts';
import type {
  Binding,
  CodeTemplate,
  ExpressionKind,
  ExpressionTemplate,
  Quote,
  Reference,
} from './template.ts';

/** Code with bindings. `values` has the JSON text of each bound identifier's value. */
export interface BoundCode {
  code: string;
  values: Record<string, string>;
}

/**
 * Returns the code of a function block with its values. An empty reference is null. A placeholder with an unknown name
 * keeps its text.
 */
export function bindCode(code: CodeTemplate, lookup: Lookup): BoundCode {
  return bind(code.code, code.bindings, lookup);
}

/**
 * Returns an expression with its values. An empty reference is null. A placeholder with an unknown name keeps its text.
 *
 * Throws BlockError EXPRESSION_FAILED if a value would end the quotes around its reference.
 */
export function bindExpression(expression: ExpressionTemplate, lookup: Lookup): BoundCode {
  return bind(expression.code, expression.bindings, lookup);
}

function bind(code: string, bindings: readonly Binding[], lookup: Lookup): BoundCode {
  const values: Record<string, string> = {};
  const pieces: string[] = [];
  let position = 0;
  for (const binding of bindings) {
    if ('env' in binding && binding.bare && lookup.env(binding.env) === undefined) {
      // Bindings are in the order of their identifiers.
      const start = code.indexOf(binding.name, position);
      pieces.push(code.slice(position, start), binding.text);
      position = start + binding.name.length;
    } else {
      values[binding.name] = JSON.stringify(valueOf(binding, lookup));
    }
  }
  return { code: pieces.join('') + code.slice(position), values };
}

function valueOf(binding: Binding, lookup: Lookup): Json {
  if ('env' in binding) return envValue(lookup.env(binding.env) ?? binding.text, binding.form);
  switch (binding.form) {
    case 'value':
      return resolveReference(binding.ref, lookup) ?? null;
    case 'loop':
      return loopValue(resolveReference(binding.ref, lookup) ?? null);
    case 'json':
      return textInQuotes(binding.ref, lookup, (value) => JSON.stringify(value));
    case 'pattern':
      return textInQuotes(binding.ref, lookup, (value) =>
        typeof value === 'string' ? value : JSON.stringify(value),
      );
    case 'quoted':
      return textInQuotes(binding.ref, lookup, (value) =>
        unescapeInsideQuotes(literalText(value, binding.kind), binding.quote, binding.ref),
      );
  }
}

const PLAIN_LITERAL = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

function envValue(text: string, form: 'text' | 'literal'): Json {
  if (form === 'text' || !PLAIN_LITERAL.test(text.trim())) return text;
  const value = JSON.parse(text) as Json;
  return typeof value === 'number' && !Number.isFinite(value) ? text : value;
}

/** In loop expressions the strings "true" and "false" count as booleans. */
function loopValue(value: Json): Json {
  if (value === 'true') return true;
  return value === 'false' ? false : value;
}

function textInQuotes(ref: Reference, lookup: Lookup, toText: (value: Json) => string): string {
  const outcome = evaluateReference(ref, lookup);
  if (outcome.kind === 'text') return ref.text;
  return toText(outcome.kind === 'value' ? outcome.value : null);
}

/** Returns the literal that an author would write for the value. */
function literalText(value: Json, kind: ExpressionKind): string {
  if (typeof value !== 'string') return JSON.stringify(value);
  if (kind === 'condition') return `'${value.replace(/[\\'\n\r\u2028\u2029]/g, escapeCharacter)}'`;
  return value === 'true' || value === 'false' ? value : JSON.stringify(value);
}

function escapeCharacter(character: string): string {
  if (character === '\n') return '\\n';
  if (character === '\r') return '\\r';
  if (character === '\u2028') return '\\u2028';
  return character === '\u2029' ? '\\u2029' : `\\${character}`;
}

/**
 * Returns the string for a literal that is inserted between quotes of the author: the escapes in the literal are
 * decoded. Throws for a literal that would end the quotes.
 */
function unescapeInsideQuotes(text: string, quote: Quote, ref: Reference): string {
  const closingPattern = quote === '`' ? /`|\$\{/ : new RegExp(quote);
  if (closingPattern.test(text.replace(/\\[\s\S]/g, ''))) {
    throw new BlockError(
      'EXPRESSION_FAILED',
      `The value of ${ref.text} is inserted with its own quotes, which end the quotes around it. Remove the quotes around ${ref.text}.`,
      { retryable: false },
    );
  }
  return text.replace(/\\(u[0-9a-f]{4}|[\s\S])/g, (_, escape: string) => unescapeSequence(escape));
}

const ESCAPES: Record<string, string> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' };

function unescapeSequence(escape: string): string {
  return escape.length > 1
    ? String.fromCharCode(Number.parseInt(escape.slice(1), 16))
    : (ESCAPES[escape] ?? escape);
}
