import { BACKSLASH, LESS_THAN, OPEN_BRACE } from './grammar.ts';
import {
  isLineEnd,
  scanLiteral,
  scanRegex,
  skipBlockComment,
  skipLine,
  skipSpace,
  skipWord,
} from './lexemes.ts';
import type { PrecedingToken, Site, SiteFinder } from './sites.ts';
import type { CodeRewriter } from './code-rewriter.ts';

/**
 * An open bracket. `control`: the `(` after if, for, while or with. `block` and `object`: braces, distinguished by the
 * preceding token. `template`: an expression in a template literal.
 */
type Bracket = '(' | 'control' | '[' | 'block' | 'object' | 'template';

const CONTROL_WORDS = new Set(['if', 'for', 'while', 'with']);
/** Words before an operand, so that `/` begins a regular expression and `<` a reference. */
const OPERATOR_WORDS = new Set(
  'return typeof instanceof in of new delete void throw case do else yield await default extends'.split(' '),
);
/** Tokens before the `{` of an object literal. After other tokens, `{` opens a block. */
const TOKENS_BEFORE_OBJECT = new Set([
  '(',
  '[',
  ',',
  '=',
  ':',
  '?',
  '&',
  '|',
  '+',
  '-',
  '*',
  '/',
  '%',
  '!',
  '~',
  '^',
  '<',
  '>',
  'return',
  'typeof',
  'in',
  'of',
  'throw',
  'case',
  'yield',
  'await',
  'default',
  'new',
  'void',
]);

/**
 * Binds the sites (references and placeholders) in JavaScript, in one pass over its tokens.
 *
 * In code a site becomes an identifier. A string literal with sites is split and joined with `+`; in a template literal
 * the site becomes `${identifier}`; a regular expression with sites becomes `new RegExp(…)`. Comments stay, or become
 * spaces in an expression. The number of lines stays the same.
 *
 * The preceding token decides which `/` begins a regular expression and which `<` compares, as far as that is possible
 * without a parser: the `)` of a control statement and the `}` of a block differ from those of expressions.
 */
export class JavaScriptScanner {
  readonly #text: string;
  readonly #finder: SiteFinder;
  readonly #rewriter: CodeRewriter;
  readonly #isExpression: boolean;
  readonly #brackets: Bracket[] = [];
  #offset = 0;
  /** The last token: a word, or one punctuation character; 'x' for a literal or a site. */
  #lastToken = '';
  /** True if the last token ends an operand. */
  #endsOperand = false;
  /** True if a line ended after the last token. */
  #hasLineEnd = false;
  /**
   * A scan found no end of a regular expression before this offset, so a slash before it is an operator. Without this,
   * each slash would cause another scan of the line.
   */
  #noRegexBefore = 0;

  constructor(finder: SiteFinder, rewriter: CodeRewriter, isExpression: boolean) {
    this.#text = finder.text;
    this.#finder = finder;
    this.#rewriter = rewriter;
    this.#isExpression = isExpression;
  }

  scan(): void {
    while (this.#offset < this.#text.length) this.#readToken();
  }

  #readToken(): void {
    const character = this.#text.charAt(this.#offset);
    if (/\s/.test(character)) return this.#readSpace(character);
    if (character === '"' || character === "'") return this.#readString(character);
    if (character === '`') return this.#readTemplateText(this.#offset + 1);
    if (character === '/') return this.#readSlash();
    if ((character === '<' || character === '{') && this.#bindSiteInCode()) return undefined;
    const wordEnd = skipWord(this.#text, this.#offset);
    return wordEnd > this.#offset ? this.#readWord(wordEnd) : this.#readPunctuation(character);
  }

  #readSpace(character: string): void {
    this.#hasLineEnd ||= isLineEnd(character);
    this.#offset++;
  }

  #readWord(end: number): void {
    const word = this.#text.slice(this.#offset, end);
    const isProperty = this.#lastToken === '.';
    this.#moveTo(end, word, isProperty || !OPERATOR_WORDS.has(word));
  }

  #readPunctuation(character: string): void {
    const next = this.#text.charAt(this.#offset + 1);
    if ((character === '+' || character === '-') && next === character)
      return this.#moveTo(this.#offset + 2, character, this.#endsOperand);
    if (character === ')' || character === ']' || character === '}') return this.#closeBracket(character);
    const bracket = this.#openingBracket(character);
    if (bracket !== undefined) this.#brackets.push(bracket);
    const isArrow = character === '>' && this.#text.charAt(this.#offset - 1) === '=';
    return this.#moveTo(this.#offset + 1, isArrow ? '=>' : character, false);
  }

  #openingBracket(character: string): Bracket | undefined {
    if (character === '(') return CONTROL_WORDS.has(this.#lastToken) ? 'control' : '(';
    if (character === '{') return TOKENS_BEFORE_OBJECT.has(this.#lastToken) ? 'object' : 'block';
    return character === '[' ? '[' : undefined;
  }

  #closeBracket(character: string): void {
    const bracket = this.#brackets.pop();
    if (character === '}' && bracket === 'template') return this.#readTemplateText(this.#offset + 1);
    return this.#moveTo(this.#offset + 1, character, bracket !== 'control' && bracket !== 'block');
  }

  #readSlash(): void {
    const next = this.#text.charAt(this.#offset + 1);
    if (next === '/') return this.#readComment(skipLine(this.#text, this.#offset));
    if (next === '*') return this.#readComment(skipBlockComment(this.#text, this.#offset));
    if (this.#endsOperand || this.#offset < this.#noRegexBefore)
      return this.#moveTo(this.#offset + 1, '/', false);
    const { bodyEnd, end } = scanRegex(this.#text, this.#offset);
    if (bodyEnd !== undefined) return this.#readRegex(bodyEnd, end);
    this.#noRegexBefore = end;
    return this.#moveTo(this.#offset + 1, '/', false);
  }

  #readComment(end: number): void {
    this.#finder.checkComment(this.#offset, end);
    if (this.#isExpression) {
      this.#rewriter.replace(
        this.#offset,
        end,
        this.#text.slice(this.#offset, end).replace(/[^\n\r\u2028\u2029]+/g, ' '),
      );
    }
    this.#hasLineEnd ||= /[\n\r\u2028\u2029]/.test(this.#text.slice(this.#offset, end));
    this.#offset = end;
  }

  #bindSiteInCode(): boolean {
    // In `a<<b>c` the second `<` belongs to the shift, unless a reference to a known block begins there.
    const isShift = this.#lastToken === '<' && this.#text.charAt(this.#offset - 1) === '<';
    const precedingToken: PrecedingToken = isShift
      ? 'operand'
      : this.#endsOperand
        ? this.#hasLineEnd
          ? 'operand-line'
          : 'operand'
        : 'no-operand';
    const site = this.#finder.findInCode(this.#offset, precedingToken);
    if (site === undefined) return false;
    const name = this.#rewriter.bind(site, 'code');
    const separatorAt = (offset: number): string => (skipWord(this.#text, offset) > offset ? ' ' : '');
    const code = `${separatorAt(site.start - 1)}${this.#asOperand(name, site.end)}${separatorAt(site.end)}`;
    this.#rewriter.replace(site.start, site.end, code);
    this.#moveTo(site.end, 'x', true);
    return true;
  }

  /**
   * Returns the identifier as an operand. In an object literal, a bare identifier would be a key or a shorthand
   * property, which the author did not write.
   */
  #asOperand(name: string, end: number): string {
    if (this.#brackets.at(-1) !== 'object' || (this.#lastToken !== '{' && this.#lastToken !== ','))
      return name;
    const next = this.#text.charAt(skipSpace(this.#text, end));
    if (next === ':') return `[${name}]`;
    return next === ',' || next === '}' ? `(${name})` : name;
  }

  #readString(quote: '"' | "'"): void {
    const { end, contentEnd, closedBy } = scanLiteral(this.#text, this.#offset, quote);
    const sites = closedBy === 'never' ? [] : this.#sitesIn(this.#offset + 1, contentEnd);
    if (sites.length > 0)
      this.#rewriter.replace(this.#offset, end, this.#joinLiteral(quote, sites, contentEnd, end));
    this.#moveTo(end, 'x', true);
  }

  /**
   * Returns the split literal: `"a <x.y> b"` is `"a " + name + " b"`. It is in parentheses only if it must stay one
   * literal.
   */
  #joinLiteral(quote: '"' | "'", sites: readonly Site[], contentEnd: number, end: number): string {
    let expression = quote;
    let from = this.#offset + 1;
    for (const site of sites) {
      const replacement =
        site.kind === 'malformed' ? 'undefined' : `${quote} + ${this.#rewriter.bind(site, quote)} + ${quote}`;
      expression += this.#text.slice(from, site.start) + replacement;
      from = site.end;
    }
    expression += this.#text.slice(from, contentEnd) + quote;
    if (!this.#mustStayOneLiteral(sites)) return expression;
    const isKey =
      (this.#lastToken === '{' || this.#lastToken === ',') &&
      this.#text.charAt(skipSpace(this.#text, end)) === ':';
    if (isKey) return `[${expression}]`;
    return this.#endsOperand ? expression : `(${expression})`;
  }

  /** Returns true if the joined text must count as one literal, as authored. */
  #mustStayOneLiteral(sites: readonly Site[]): boolean {
    if (this.#isExpression) return true;
    return sites.some((site) => site.kind === 'env') && sites.every((site) => site.kind !== 'reference');
  }

  /** Reads template text from after a backtick or `}` up to the closing backtick or the next `${`. */
  #readTemplateText(from: number): void {
    const { end, contentEnd, closedBy } = scanLiteral(this.#text, from - 1, '`');
    for (const site of closedBy === 'never' ? [] : this.#sitesIn(from, contentEnd)) {
      const value = site.kind === 'malformed' ? 'undefined' : `\${${this.#rewriter.bind(site, '`')}}`;
      this.#rewriter.replace(site.start, site.end, value);
    }
    if (closedBy === 'expression') this.#brackets.push('template');
    this.#moveTo(end, closedBy === 'expression' ? '(' : 'x', closedBy !== 'expression');
  }

  #readRegex(bodyEnd: number, end: number): void {
    const sites = this.#sitesIn(this.#offset + 1, bodyEnd, true);
    if (sites.length > 0) {
      const parts: string[] = [];
      let from = this.#offset + 1;
      for (const site of sites) {
        parts.push(JSON.stringify(this.#text.slice(from, site.start)), this.#rewriter.bind(site, 'pattern'));
        from = site.end;
      }
      parts.push(
        JSON.stringify(this.#text.slice(from, bodyEnd)),
        JSON.stringify(this.#text.slice(bodyEnd + 1, end)),
      );
      const code = `new RegExp(${parts.slice(0, -1).join(' + ')}, ${parts.at(-1)})`;
      this.#rewriter.replace(this.#offset, end, code);
    }
    this.#moveTo(end, 'x', true);
  }

  /**
   * Returns the sites of a literal. In a regular expression `(?<year>…)` and `\k<year>` name a group, even if a block
   * has that name.
   */
  #sitesIn(from: number, to: number, isRegex = false): Site[] {
    const sites: Site[] = [];
    for (let offset = from; offset < to; offset++) {
      const character = this.#text.charCodeAt(offset);
      if (character === BACKSLASH) offset++;
      if (character !== LESS_THAN && character !== OPEN_BRACE) continue;
      if (isRegex && (this.#text.startsWith('(?', offset - 2) || this.#text.startsWith('\\k', offset - 2)))
        continue;
      const site = this.#finder.findInText(offset, to);
      if (site === undefined) continue;
      sites.push(site);
      offset = site.end - 1;
    }
    return sites;
  }

  #moveTo(offset: number, token: string, endsOperand: boolean): void {
    this.#offset = offset;
    this.#lastToken = token;
    this.#endsOperand = endsOperand;
    this.#hasLineEnd = false;
  }
}
