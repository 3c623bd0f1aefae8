import { BACKSLASH, LESS_THAN, OPEN_BRACE } from './grammar.ts';
import { skipLine, skipSpace, skipWord } from './lexemes.ts';
import { toLiteral, scanPythonString, type PythonString, stringPrefix } from './python-string.ts';
import type { Site, SiteFinder } from './sites.ts';
import type { CodeRewriter } from './code-rewriter.ts';

/** An open bracket. `expression`: the braces of an f-string with that quote; `spec`: braces in its format spec. */
type Bracket = { kind: '(' } | { kind: 'expression' | 'spec'; quote: string };

/** Words before an operand, so that `<` begins a reference. */
const OPERATOR_WORDS = new Set(
  'return in and or not is if elif else while for with assert del raise from import except case match lambda yield await as print'.split(
    ' ',
  ),
);

/**
 * Binds the sites (references and placeholders) in Python, in one pass over its tokens.
 *
 * In code a site becomes an identifier. A string literal with sites is split and joined with `+`; in an f-string the
 * site becomes `{identifier}`. Comments stay. The number of lines stays the same.
 */
export function scanPython(finder: SiteFinder, rewriter: CodeRewriter): void {
  new PythonScanner(finder, rewriter).scan();
}

class PythonScanner {
  readonly #text: string;
  readonly #finder: SiteFinder;
  readonly #rewriter: CodeRewriter;
  readonly #brackets: Bracket[] = [];
  #offset = 0;
  #endsOperand = false;
  #hasLineEnd = false;
  /** True if the last token is a string: Python joins the next string to it without an operator. */
  #isAfterString = false;

  constructor(finder: SiteFinder, rewriter: CodeRewriter) {
    this.#text = finder.text;
    this.#finder = finder;
    this.#rewriter = rewriter;
  }

  scan(): void {
    while (this.#offset < this.#text.length) this.#readToken();
  }

  #readToken(): void {
    const character = this.#text.charAt(this.#offset);
    if (/\s/.test(character)) return this.#readSpace(character);
    if (character === '#') return this.#readComment();
    const prefix = stringPrefix(this.#text, this.#offset);
    if (prefix !== undefined) return this.#readLiteral(scanPythonString(this.#text, this.#offset, prefix));
    if ((character === '<' || character === '{') && this.#bindSiteInCode()) return undefined;
    const end = skipWord(this.#text, this.#offset);
    if (end > this.#offset)
      return this.#moveTo(end, !OPERATOR_WORDS.has(this.#text.slice(this.#offset, end)));
    return this.#readPunctuation(character);
  }

  #readSpace(character: string): void {
    this.#hasLineEnd ||= character === '\n';
    this.#offset++;
  }

  #readComment(): void {
    const end = skipLine(this.#text, this.#offset);
    this.#finder.checkComment(this.#offset, end);
    this.#offset = end;
  }

  #readPunctuation(character: string): void {
    const topBracket = this.#brackets.at(-1);
    if (character === ')' || character === ']' || character === '}') return this.#closeBracket(topBracket);
    if (character === ':' && topBracket?.kind === 'expression')
      return this.#readFormatSpec(this.#offset + 1, topBracket.quote);
    if (character === '(' || character === '[' || character === '{') this.#brackets.push({ kind: '(' });
    return this.#moveTo(this.#offset + 1, false);
  }

  #closeBracket(topBracket: Bracket | undefined): void {
    this.#brackets.pop();
    if (topBracket?.kind === 'expression') return this.#readFormattedText(this.#offset + 1, topBracket.quote);
    if (topBracket?.kind === 'spec') return this.#readFormatSpec(this.#offset + 1, topBracket.quote);
    return this.#moveTo(this.#offset + 1, true);
  }

  #bindSiteInCode(): boolean {
    const isNewStatement = this.#hasLineEnd && this.#brackets.length === 0;
    const precedingToken =
      !this.#endsOperand || isNewStatement ? 'no-operand' : this.#hasLineEnd ? 'operand-line' : 'operand';
    const site = this.#finder.findInCode(this.#offset, precedingToken);
    if (site === undefined || site.kind === 'malformed') return false;
    const separatorAt = (offset: number): string => (skipWord(this.#text, offset) > offset ? ' ' : '');
    const name = this.#rewriter.bind(site, 'code');
    this.#rewriter.replace(
      site.start,
      site.end,
      `${separatorAt(site.start - 1)}${name}${separatorAt(site.end)}`,
    );
    this.#moveTo(site.end, true);
    return true;
  }

  #readLiteral(literal: PythonString): void {
    if (literal.isFormatted) return this.#readFormattedText(literal.contentStart, literal.quote);
    const sites = literal.isClosed ? this.#sitesIn(literal.contentStart, literal.contentEnd) : [];
    if (sites.length > 0)
      this.#rewriter.replace(this.#offset, literal.end, this.#joinLiteral(literal, sites));
    this.#moveTo(literal.end, true);
    this.#isAfterString = true;
  }

  /**
   * Returns the split literal: `"a <x.y> b"` is `"a " + name + " b"`. A literal without references, or of bytes, gets
   * parentheses unless another string literal is next to it.
   */
  #joinLiteral(literal: PythonString, sites: readonly Site[]): string {
    const parts: string[] = [];
    let from = literal.contentStart;
    for (const site of sites) {
      parts.push(toLiteral(literal, this.#text.slice(from, site.start)));
      parts.push(this.#rewriter.bind(site, '"') + (literal.isBytes ? '.encode()' : ''));
      from = site.end;
    }
    parts.push(toLiteral(literal, this.#text.slice(from, literal.contentEnd)));
    const expression = parts.join(' + ');
    const isAdjacent =
      this.#isAfterString || stringPrefix(this.#text, skipSpace(this.#text, literal.end)) !== undefined;
    const needsNoParentheses = !literal.isBytes && sites.some((site) => site.kind === 'reference');
    return isAdjacent || needsNoParentheses ? expression : `(${expression})`;
  }

  /** Reads the text of an f-string from `from` up to its end or to the next expression in braces. */
  #readFormattedText(from: number, quote: string): void {
    let offset = from;
    while (offset < this.#text.length && !this.#text.startsWith(quote, offset)) {
      const character = this.#text.charAt(offset);
      if (character === '\n' && quote.length === 1) return this.#moveTo(offset, true);
      const site = this.#bindFormattedSite(offset, quote);
      if (site !== undefined) offset = site.end;
      else if (character === '\\' || this.#text.startsWith('{{', offset)) offset += 2;
      else if (character === '{') return this.#enterExpression(offset, quote, 'expression');
      else offset++;
    }
    this.#moveTo(Math.min(offset + quote.length, this.#text.length), true);
    this.#isAfterString = true;
  }

  #bindFormattedSite(offset: number, quote: string): Site | undefined {
    const site = this.#finder.findInText(offset, this.#text.length);
    if (
      site === undefined ||
      site.kind === 'malformed' ||
      /["'{}]/.test(site.kind === 'env' ? site.name : site.text)
    )
      return undefined;
    if (site.kind === 'reference' && site.text.includes(quote)) return undefined;
    // The text of an unknown placeholder replaces the identifier inside the added braces, so it has one pair less.
    const name =
      site.kind === 'env'
        ? this.#rewriter.bind({ ...site, text: site.text.slice(1, -1) }, 'code')
        : this.#rewriter.bind(site, '"');
    this.#rewriter.replace(site.start, site.end, `{${name}}`);
    return site;
  }

  #readFormatSpec(from: number, quote: string): void {
    let offset = from;
    while (offset < this.#text.length && !/["'\n{}]/.test(this.#text.charAt(offset))) offset++;
    if (this.#text.charAt(offset) === '{') return this.#enterExpression(offset, quote, 'spec');
    if (this.#brackets.at(-1)?.kind === 'expression') this.#brackets.pop();
    return this.#readFormattedText(this.#text.charAt(offset) === '}' ? offset + 1 : offset, quote);
  }

  #enterExpression(offset: number, quote: string, kind: 'expression' | 'spec'): void {
    this.#brackets.push({ kind, quote });
    this.#moveTo(offset + 1, false);
  }

  #sitesIn(from: number, to: number): Site[] {
    const sites: Site[] = [];
    for (let offset = from; offset < to; offset++) {
      const character = this.#text.charCodeAt(offset);
      if (character === BACKSLASH) offset++;
      if (character !== LESS_THAN && character !== OPEN_BRACE) continue;
      const site = this.#finder.findInText(offset, to);
      if (site === undefined || site.kind === 'malformed') continue;
      sites.push(site);
      offset = site.end - 1;
    }
    return sites;
  }

  #moveTo(offset: number, endsOperand: boolean): void {
    this.#offset = offset;
    this.#endsOperand = endsOperand;
    this.#hasLineEnd = false;
    this.#isAfterString = false;
  }
}
