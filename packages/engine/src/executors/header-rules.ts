import { BlockError } from '@heddle/core/blocks';

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** Characters that a header value cannot contain (RFC 9110 §5.5): a line break would begin another header. */
const FORBIDDEN_CHARACTER = /[^\t\x20-\x7e\x80-\xff]/;

/** Throws BLOCK_CONFIG_INVALID for an invalid header name or value. The error message does not contain the value. */
export function checkHeaders(
  headers: readonly (readonly [name: string, value: string])[],
  messageKind: 'request' | 'response',
): void {
  for (const [name, value] of headers) {
    if (!HEADER_NAME.test(name))
      throw invalidHeaderError(
        `The ${messageKind} has a header with the name ${JSON.stringify(name)}: names consist of letters, digits and characters such as -, without spaces.`,
      );
    const character = FORBIDDEN_CHARACTER.exec(value)?.[0];
    if (character !== undefined)
      throw invalidHeaderError(
        `The value of the header "${name}" of the ${messageKind} contains ${describeCharacter(character)}, which a header cannot contain. Remove or encode it in a function block.`,
      );
  }
}

function describeCharacter(character: string): string {
  if (character === '\r' || character === '\n') return 'a line break';
  const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  return `the character U+${code}`;
}

function invalidHeaderError(message: string): BlockError {
  return new BlockError('BLOCK_CONFIG_INVALID', message, { retryable: false });
}
