import { isJsonObject } from '@heddle/core/blocks';
import type { BlockError, Json } from '@heddle/core/blocks';
import { plainText } from '../openapi/wire.ts';

/** How the values of references are bound. */
interface Binding {
  /** Receives the value of each reference. */
  values: Json[];
  /** Number of parameters in the author's own list, which precede `values`. */
  offset: number;
  errorFor: (problem: string) => BlockError;
}

/**
 * What surrounds a position in SQL. `escaped`: a string with backslash escapes. `name`: a quoted identifier. `line`: a
 * comment until the end of the line. `comment`: a comment until its closing mark. `dollar`: a dollar-quoted string.
 */
type State = 'code' | 'string' | 'escaped' | 'name' | 'line' | 'comment' | 'dollar';

/** Tokens that can end each state, or look like its end. */
const TOKENS: { readonly [state in Exclude<State, 'dollar'>]: RegExp } = {
  code: /'|"|--|\/\*|\$(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?\$/g,
  string: /''|'/g,
  escaped: /\\[^]|''|'/g,
  name: /""|"/g,
  line: /[\n\r]/g,
  comment: /\/\*|\*\//g,
};
const WORD_END = /[\w$\u0080-\uffff]$/;
/** The prefix `E` of a string literal with backslash escapes. */
const ESCAPE_PREFIX = /(?:^|[^\w$\u0080-\uffff])e$/i;

/** Splits SQL into fragments, and tracks whether a position is in code, a string, a name or a comment. */
class SqlReader {
  state: State = 'code';
  /** Number of open comments, which may be nested. */
  #depth = 0;
  #tag = '';

  /**
   * Splits `text` into tokens and the text between them. Calls `onFragment` with each fragment and the states before
   * and after it.
   */
  read(text: string, onFragment: (fragment: string, stateBefore: State, stateAfter: State) => void): void {
    for (let position = 0; position < text.length;) {
      const { index, token } = this.#findToken(text, position);
      if (index > position) onFragment(text.slice(position, index), this.state, this.state);
      position = index + token.length;
      if (token === '') return;
      const stateBefore = this.state;
      this.#applyToken(token, text.slice(Math.max(0, index - 2), index));
      onFragment(token, stateBefore, this.state);
    }
  }

  #findToken(text: string, start: number): { index: number; token: string } {
    if (this.state === 'dollar') {
      const index = text.indexOf(this.#tag, start);
      return index === -1 ? { index: text.length, token: '' } : { index, token: this.#tag };
    }
    const pattern = TOKENS[this.state];
    pattern.lastIndex = start;
    const match = pattern.exec(text);
    return match ? { index: match.index, token: match[0] } : { index: text.length, token: '' };
  }

  #applyToken(token: string, textBefore: string): void {
    if (this.state === 'code') this.#leaveCode(token, textBefore);
    else if (this.state === 'comment') {
      this.#depth += token === '/*' ? 1 : -1;
      if (this.#depth === 0) this.state = 'code';
    } else if (token.length === 1 || this.state === 'dollar') this.state = 'code';
  }

  #leaveCode(token: string, textBefore: string): void {
    if (token === "'") this.state = ESCAPE_PREFIX.test(textBefore) ? 'escaped' : 'string';
    else if (token === '"') this.state = 'name';
    else if (token === '--') this.state = 'line';
    else if (token === '/*') {
      this.#depth = 1;
      this.state = 'comment';
    } else if (!WORD_END.test(textBefore)) {
      // Within a word, a dollar sign is a letter.
      this.#tag = token;
      this.state = 'dollar';
    }
  }
}

/** Builds a statement from authored SQL and values. */
class StatementBinder {
  readonly #reader = new SqlReader();
  readonly #binding: Binding;
  readonly #sql: string[] = [];
  /**
   * The string that has not ended yet: its content, and the index of its first fragment in `#sql`. `isBound`: the
   * string contains a reference. `isPrefixed`: the string directly follows a word or `&`.
   */
  #openString = { content: '', firstFragmentIndex: 0, isBound: false, isPrefixed: false };

  constructor(binding: Binding) {
    this.#binding = binding;
  }

  addText(text: string): void {
    this.#reader.read(text, (fragment, stateBefore, stateAfter) => {
      const isEnd = stateBefore === 'string' && stateAfter !== 'string';
      if (isEnd && this.#openString.isBound) {
        this.#sql.length = this.#openString.firstFragmentIndex;
        this.#addParameter(this.#openString.content);
        return;
      }
      if (stateBefore === 'string') this.#openString.content += fragment === "''" ? "'" : fragment;
      else if (stateAfter === 'string') this.#beginString();
      this.#sql.push(fragment);
    });
  }

  addValue(value: Json): void {
    const { errorFor } = this.#binding;
    switch (this.#reader.state) {
      case 'dollar':
      case 'escaped':
        throw errorFor(
          'has a reference in a dollar-quoted string or a string with the prefix E: use plain quotes',
        );
      case 'code':
        if (WORD_END.test(this.#lastCharacter()))
          throw errorFor('has a reference directly after a word: put a space before it');
        this.#addParameter(value);
        break;
      case 'name':
        this.#sql.push(plainText(value).replaceAll('"', '""'));
        break;
      case 'string':
        if (this.#openString.isPrefixed)
          throw errorFor(
            "has a reference in a string directly after a word: write a cast after the string, as in '…'::date",
          );
        this.#openString.content += plainText(value);
        this.#openString.isBound = true;
        break;
      case 'line':
      case 'comment':
    }
  }

  end(): string {
    if (this.#reader.state === 'string' && this.#openString.isBound)
      throw this.#binding.errorFor('has a string without a closing quote');
    return this.#sql.join('');
  }

  #beginString(): void {
    const previous = this.#lastCharacter();
    const isPrefixed = WORD_END.test(previous) || previous === '&';
    this.#openString = { content: '', firstFragmentIndex: this.#sql.length, isBound: false, isPrefixed };
  }

  #addParameter(value: Json): void {
    const { values, offset } = this.#binding;
    this.#sql.push(` $${offset + values.push(value)} `);
  }

  #lastCharacter(): string {
    return this.#sql.at(-1)?.at(-1) ?? '';
  }
}

/**
 * Returns the statement with numbered parameters (`$1`) in place of its references. In `parts`, strings are SQL, and
 * objects have the value of a reference in `value`. A reference in a string makes the whole string a parameter. The
 * value of a reference in a quoted name is escaped and becomes part of the name. A reference in a comment is dropped.
 * Therefore, no value can change the structure of the statement.
 */
export function bindReferences(parts: readonly Json[], binding: Binding): string {
  const binder = new StatementBinder(binding);
  for (const part of parts) {
    if (typeof part === 'string') binder.addText(part);
    else binder.addValue((isJsonObject(part) ? part['value'] : part) ?? null);
  }
  return binder.end();
}

/** Returns why SQL cannot be put between parentheses as one condition; undefined if it can. */
export function conditionProblem(sql: string): string | undefined {
  const reader = new SqlReader();
  let depth = 0;
  let problem: string | undefined;
  let isEmpty = true;
  reader.read(sql, (fragment, stateBefore) => {
    if (stateBefore === 'line' || stateBefore === 'comment') return;
    if (fragment !== '--' && fragment !== '/*' && fragment.trim() !== '') isEmpty = false;
    if (stateBefore !== 'code') return;
    for (const char of fragment) {
      if (char === ';') problem = 'has a semicolon';
      if (char === '(') depth += 1;
      if (char === ')') depth -= 1;
      if (depth < 0) problem = 'has an unmatched closing parenthesis';
    }
  });
  if (isEmpty) return 'is empty';
  if (problem !== undefined) return problem;
  if (depth > 0) return 'has an unclosed parenthesis';
  return reader.state === 'code' || reader.state === 'line'
    ? undefined
    : 'has an unterminated quote or comment';
}
