/**
 * The text between angle brackets, before names are looked up.
 *
 * `plain`: may be a reference. `with-space`: has a space after its first dot, so it can only refer to a variable.
 * `with-operator`: contains an operator, so it is not a reference. In JavaScript code, a tag that is not plain and
 * whose root is the name of a block is read as undefined.
 */
export interface Tag {
  start: number;
  /** After the closing bracket. */
  end: number;
  /** With the brackets. */
  text: string;
  /** Up to the first dot. */
  root: string;
  /** After the first dot; undefined without a dot. */
  path: string | undefined;
  shape: 'plain' | 'with-space' | 'with-operator';
}

/** An environment placeholder `{{NAME}}`. */
export interface Placeholder {
  start: number;
  end: number;
  text: string;
  /** The exact text between the braces. */
  name: string;
}

/** UTF-16 units: the characters that begin a tag or placeholder, and the character that escapes them. */
export const LESS_THAN = 60;
export const OPEN_BRACE = 123;
export const BACKSLASH = 92;

const GREATER_THAN = 62;
const CLOSE_BRACE = 125;
const NEWLINE = 10;
const CARRIAGE_RETURN = 13;

const OPERATORS = /[+*/=!]/;
const ONLY_DIGITS = /^\d+$/;
const SPACE_DIGIT = /\s\d/;

/** Returns the tag that begins with the `<` at `start` and ends before `limit`; undefined if there is none. */
export function tagAt(text: string, start: number, limit: number): Tag | undefined {
  const end = closingBracketOffset(text, start + 1, limit);
  if (end === undefined || end === start + 1) return undefined;
  const innerText = text.slice(start + 1, end);
  if (innerText.trim() !== innerText) return undefined;
  const dotIndex = innerText.indexOf('.');
  const root = dotIndex < 0 ? innerText : innerText.slice(0, dotIndex);
  const path = dotIndex < 0 ? undefined : innerText.slice(dotIndex + 1);
  const shape = shapeOf(innerText, path);
  return shape && { start, end: end + 1, text: text.slice(start, end + 1), root, path, shape };
}

/** Returns the placeholder that begins with the `{` at `start` and ends before `limit`; undefined if there is none. */
export function placeholderAt(text: string, start: number, limit: number): Placeholder | undefined {
  if (text.charCodeAt(start + 1) !== OPEN_BRACE) return undefined;
  for (let index = start + 2; index < limit; index++) {
    const code = text.charCodeAt(index);
    if (code === CLOSE_BRACE) {
      if (index === start + 2 || index + 1 >= limit || text.charCodeAt(index + 1) !== CLOSE_BRACE)
        return undefined;
      const end = index + 2;
      return { start, end, text: text.slice(start, end), name: text.slice(start + 2, index) };
    }
    if (endsName(code)) return undefined;
  }
  return undefined;
}

/** Returns true if the text inside a tag or placeholder has only words, dots, hyphens and square brackets. */
export function hasOnlyWords(innerText: string): boolean {
  return /^[^\x00-\x1f!"#%&'()*+,/:;<=>?@\\^`{|}~]*$/.test(innerText);
}

function shapeOf(innerText: string, path: string | undefined): Tag['shape'] | undefined {
  if (path === undefined && (ONLY_DIGITS.test(innerText) || SPACE_DIGIT.test(innerText))) return undefined;
  if (OPERATORS.test(innerText)) return 'with-operator';
  return path !== undefined && path.includes(' ') ? 'with-space' : 'plain';
}

/** Returns the offset of the `>`. A tag is on one line and contains no other `<`, so each character is read once. */
function closingBracketOffset(text: string, start: number, limit: number): number | undefined {
  for (let index = start; index < limit; index++) {
    const code = text.charCodeAt(index);
    if (code === GREATER_THAN) return index;
    if (code === LESS_THAN || code === NEWLINE || code === CARRIAGE_RETURN) return undefined;
  }
  return undefined;
}

function endsName(code: number): boolean {
  if (code === NEWLINE || code === CARRIAGE_RETURN) return true;
  return code === OPEN_BRACE || code === LESS_THAN || code === GREATER_THAN;
}
