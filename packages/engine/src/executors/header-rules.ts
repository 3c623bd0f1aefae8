import { BlockError } from '@heddle/core/blocks';

const NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
/** A byte that no header value has (RFC 9110 §5.5): a line break in one would begin another header. */
const FORBIDDEN = /[^\t\x20-\x7e\x80-\xff]/;

/** Throws BLOCK_CONFIG_INVALID for a header whose name or value cannot be sent; the value is not shown. */
export function checkHeaders(
  headers: readonly (readonly [name: string, value: string])[],
  of: 'request' | 'response',
): void {
  for (const [name, value] of headers) {
    if (!NAME.test(name))
      throw invalid(
        `The ${of} has a header with the name ${JSON.stringify(name)}: names consist of letters, digits and -, without blanks.`,
      );
    const found = FORBIDDEN.exec(value)?.[0];
    if (found !== undefined)
      throw invalid(
        `The value of the header "${name}" of the ${of} has ${named(found)}, which headers cannot carry. Remove or encode it in a function block.`,
      );
  }
}

function named(character: string): string {
  if (character === '\r' || character === '\n') return 'a line break';
  const code = character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
  return `the character U+${code}`;
}

function invalid(message: string): BlockError {
  return new BlockError('BLOCK_CONFIG_INVALID', message, { retryable: false });
}
