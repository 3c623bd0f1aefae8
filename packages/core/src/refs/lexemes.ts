import type { Quote } from './template.ts';

/** The extent of a literal. */
export interface LiteralExtent {
  /** End of the content: the closing quote, or the `$` of `${`. */
  contentEnd: number;
  /** After the closing quote or the `${`. */
  end: number;
  /** How the literal ended. `never`: the line, or the text, ended first. */
  closedBy: 'quote' | 'expression' | 'never';
}

/** Returns the extent of the string or template text after the opening quote (or `}`) at `start`. */
export function scanLiteral(text: string, start: number, quote: Quote): LiteralExtent {
  for (let index = start + 1; index < text.length; index++) {
    const character = text.charAt(index);
    if (character === '\\') index++;
    else if (character === quote) return { contentEnd: index, end: index + 1, closedBy: 'quote' };
    else if (quote === '`' && character === '$' && text.charAt(index + 1) === '{')
      return { contentEnd: index, end: index + 2, closedBy: 'expression' };
    else if (quote !== '`' && (character === '\n' || character === '\r'))
      return { contentEnd: index, end: index, closedBy: 'never' };
  }
  return { contentEnd: text.length, end: text.length, closedBy: 'never' };
}

/**
 * Returns the extent of the regular expression that begins with the slash at `start`; only `end` if the line ends
 * before the closing slash, because then it is not a regular expression.
 */
export function scanRegex(text: string, start: number): { end: number; bodyEnd?: number } {
  let isInClass = false;
  for (let index = start + 1; index < text.length; index++) {
    const character = text.charAt(index);
    if (isLineEnd(character)) return { end: index };
    // A regular expression is on one line, even if a backslash precedes the line end.
    if (character === '\\' && !isLineEnd(text.charAt(index + 1))) index++;
    else if (character === '[') isInClass = true;
    else if (character === ']') isInClass = false;
    else if (character === '/' && !isInClass) return { bodyEnd: index, end: skipWord(text, index + 1) };
  }
  return { end: text.length };
}

/** Returns the end of the line of `start`. */
export function skipLine(text: string, start: number): number {
  let index = start;
  while (index < text.length && !isLineEnd(text.charAt(index))) index++;
  return index;
}

/** Returns the offset after the block comment that begins at `start`, or the end of the text if it is not closed. */
export function skipBlockComment(text: string, start: number): number {
  const closeOffset = text.indexOf('*/', start + 2);
  return closeOffset < 0 ? text.length : closeOffset + 2;
}

/** Returns the offset after the white space that begins at `start`. */
export function skipSpace(text: string, start: number): number {
  let index = start;
  while (index < text.length && /\s/.test(text.charAt(index))) index++;
  return index;
}

/** Returns the offset after the identifier, keyword or number that begins at `start`, or `start` if there is none. */
export function skipWord(text: string, start: number): number {
  let index = start;
  while (index < text.length && isWordCharacter(text.charAt(index))) index++;
  return index;
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
