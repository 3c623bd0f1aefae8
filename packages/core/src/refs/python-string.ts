/** A string literal of Python, with offsets in the whole text. */
export interface PythonString {
  /** As authored, for example `rb`. */
  prefix: string;
  /** `"`, `'`, or three of them. */
  quote: string;
  /** Start and end of the content. For an f-string, which is not scanned to its end, both are the start. */
  contentStart: number;
  contentEnd: number;
  /** After the closing quote. */
  end: number;
  /** False if the line, or the text, ended first. */
  isClosed: boolean;
  isBytes: boolean;
  isFormatted: boolean;
}

const PREFIX = /^(?:[rbfut]{1,2})?$/i;

/** Returns the prefix of the string literal that begins at `offset`, possibly ''; undefined if none begins there. */
export function stringPrefix(text: string, offset: number): string | undefined {
  for (let length = 0; length <= 2; length++) {
    const character = text.charAt(offset + length);
    if (character === '"' || character === "'") {
      const prefix = text.slice(offset, offset + length);
      return PREFIX.test(prefix) ? prefix : undefined;
    }
  }
  return undefined;
}

/** Returns the string literal whose prefix begins at `start`. An f-string is not scanned to its end. */
export function scanPythonString(text: string, start: number, prefix: string): PythonString {
  const quoteStart = start + prefix.length;
  const quoteCharacter = text.charAt(quoteStart);
  const quote = text.startsWith(quoteCharacter.repeat(3), quoteStart)
    ? quoteCharacter.repeat(3)
    : quoteCharacter;
  const contentStart = quoteStart + quote.length;
  const isFormatted = /[ft]/i.test(prefix);
  const contentEnd = isFormatted ? contentStart : findContentEnd(text, contentStart, quote);
  const isClosed = text.startsWith(quote, contentEnd);
  return {
    prefix,
    quote,
    contentStart,
    contentEnd,
    end: contentEnd + (isClosed ? quote.length : 0),
    isClosed,
    isBytes: /b/i.test(prefix),
    isFormatted,
  };
}

/** Returns a part of a split literal as a separate literal. */
export function toLiteral({ prefix, quote, isBytes }: PythonString, content: string): string {
  const trailingQuoteCount = quote.length === 3 ? countUnescapedQuotes(content, quote.charAt(0)) : 0;
  if (trailingQuoteCount === 0) return prefix + quote + content + quote;
  // Quotes directly before the three closing quotes would end the literal early.
  const body = content.slice(0, content.length - trailingQuoteCount);
  if (!/r/i.test(prefix))
    return `${prefix}${quote}${body}${`\\${quote.charAt(0)}`.repeat(trailingQuoteCount)}${quote}`;
  const otherQuote = quote.charAt(0) === '"' ? "'" : '"';
  return `${prefix}${quote}${body}${quote} ${isBytes ? 'b' : ''}${otherQuote}${quote.charAt(0).repeat(trailingQuoteCount)}${otherQuote}`;
}

function findContentEnd(text: string, contentStart: number, quote: string): number {
  for (let offset = contentStart; offset < text.length; offset++) {
    if (text.charAt(offset) === '\\') offset++;
    else if (text.startsWith(quote, offset)) return offset;
    else if (quote.length === 1 && text.charAt(offset) === '\n') return offset;
  }
  return text.length;
}

/** Returns the number of unescaped quotes at the end of `content`. */
function countUnescapedQuotes(content: string, quote: string): number {
  let quoteCount = 0;
  while (content.charAt(content.length - 1 - quoteCount) === quote) quoteCount++;
  let backslashCount = 0;
  while (content.charAt(content.length - 1 - quoteCount - backslashCount) === '\\') backslashCount++;
  return quoteCount - (quoteCount > 0 && backslashCount % 2 === 1 ? 1 : 0);
}
