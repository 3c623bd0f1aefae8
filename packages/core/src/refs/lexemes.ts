import type { Quote } from './template.ts';

/** The extent of a literal. */
export interface Literal {
  /** End of the content: the closing quote, or the `$` of `${`. */
  content: number;
  /** After the closing quote or the `${`. */
  end: number;
  /** How the literal ended. `never`: the line, or the text, ended first. */
  closed: 'quote' | 'expression' | 'never';
}

/** Returns the extent of the string or template text after the opening quote (or `}`) at `start`. */
export function scanLiteral(text: string, start: number, quote: Quote): Literal {
  for (let at = start + 1; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === '\\') at++;
    else if (character === quote) return { content: at, end: at + 1, closed: 'quote' };
    else if (quote === '`' && character === '$' && text.charAt(at + 1) === '{')
      return { content: at, end: at + 2, closed: 'expression' };
    else if (quote !== '`' && (character === '\n' || character === '\r'))
      return { content: at, end: at, closed: 'never' };
  }
  return { content: text.length, end: text.length, closed: 'never' };
}

/**
 * Returns the extent of the regular expression that begins with the slash at `start`; only `end` if the line ends
 * before the closing slash, because then it is not a regular expression.
 */
export function scanRegex(text: string, start: number): { end: number; body?: number } {
  let inClass = false;
  for (let at = start + 1; at < text.length; at++) {
    const character = text.charAt(at);
    if (isLineEnd(character)) return { end: at };
    // A regular expression is on one line, even if a backslash precedes the line end.
    if (character === '\\' && !isLineEnd(text.charAt(at + 1))) at++;
    else if (character === '[') inClass = true;
    else if (character === ']') inClass = false;
    else if (character === '/' && !inClass) return { body: at, end: skipWord(text, at + 1) };
  }
  return { end: text.length };
}

/** Returns the end of the line of `start`. */
export function skipLine(text: string, start: number): number {
  let at = start;
  while (at < text.length && !isLineEnd(text.charAt(at))) at++;
  return at;
}

/** Returns the offset after the block comment that begins at `start`, or the end of the text if it is not closed. */
export function skipBlockComment(text: string, start: number): number {
  const close = text.indexOf('*/', start + 2);
  return close < 0 ? text.length : close + 2;
}

/** Returns the offset after the white space that begins at `start`. */
export function skipSpace(text: string, start: number): number {
  let at = start;
  while (at < text.length && /\s/.test(text.charAt(at))) at++;
  return at;
}

/** Returns the offset after the identifier, keyword or number that begins at `start`, or `start` if there is none. */
export function skipWord(text: string, start: number): number {
  let at = start;
  while (at < text.length && isWordCharacter(text.charAt(at))) at++;
  return at;
}

export function isLineEnd(character: string): boolean {
  return character === '\n' || character === '\r' || character === '\u2028' || character === '\u2029';
}

/**
 * Returns true for a character of identifiers or numbers, in any script. A backslash counts, because it begins an
 * escape in an identifier.
 */
function isWordCharacter(character: string): boolean {
  return /[\w$\\]/.test(character) || (character > '\x7f' && !/\s/.test(character));
}
