import type { ReferenceFinding, SyntaxPosition } from './reference-finding.ts';
import { LESS_THAN, OPEN_BRACE, hasOnlyWords, placeholderAt, tagAt } from './grammar.ts';
import type { Tag } from './grammar.ts';
import { isReserved, neverRuns, suggestBlock, suggestVariable } from './names.ts';
import type { NamedBlock } from './names.ts';
import { readTag } from './read-tag.ts';
import type { TagMeaning, TemplateContext } from './read-tag.ts';
import type { Reference } from './template.ts';

/**
 * A part of authored text that stands for a value.
 *
 * `malformed`: begins with the name of a block but is not a reference; JavaScript code reads it as undefined.
 */
export type Site = { start: number; end: number; text: string } & (
  | { kind: 'reference'; ref: Reference }
  | { kind: 'malformed' }
  | { kind: 'env'; name: string }
);

export type FieldKind = 'text' | 'function' | 'expression';

/**
 * The context before a tag in code. `no-operand`: an operand is expected · `operand`: an operand precedes ·
 * `operand-line`: an operand precedes on an earlier line.
 */
export type PrecedingToken = 'no-operand' | 'operand' | 'operand-line';

/** Finds the sites in one string, and collects findings. Each tag is read once. */
export class SiteFinder {
  readonly text: string;
  readonly findings: ReferenceFinding[] = [];
  readonly #context: TemplateContext;
  readonly #kind: FieldKind;

  constructor(text: string, context: TemplateContext, kind: FieldKind) {
    this.text = text;
    this.#context = context;
    this.#kind = kind;
  }

  /** Returns the site at `offset` that ends before `limit`, in an ordinary field or inside a literal of code. */
  findInText(offset: number, limit: number): Site | undefined {
    const code = this.text.charCodeAt(offset);
    if (code === OPEN_BRACE) return this.#siteOfPlaceholder(offset, limit);
    const tag = code === LESS_THAN ? tagAt(this.text, offset, limit) : undefined;
    return tag && this.#siteOfTag(tag, this.#kind === 'text' ? 'text' : 'string');
  }

  /**
   * Returns the site at `offset` in code. After an operand `<` is a comparison, unless it can only begin a reference.
   */
  findInCode(offset: number, precedingToken: PrecedingToken): Site | undefined {
    const code = this.text.charCodeAt(offset);
    const limit = this.text.length;
    if (code === OPEN_BRACE) return this.#siteOfPlaceholder(offset, limit, true);
    const tag = code === LESS_THAN ? tagAt(this.text, offset, limit) : undefined;
    if (tag === undefined) return undefined;
    if (precedingToken === 'no-operand') return this.#siteOfTag(tag, 'code');
    const isPlausible =
      tag.shape === 'plain' && tag.path !== undefined && hasOnlyWords(tag.text.slice(1, -1));
    if (!isPlausible || (precedingToken === 'operand' && readTag(tag, this.#context).kind !== 'reference'))
      return undefined;
    return this.#siteOfTag(tag, 'code');
  }

  /** Collects the findings of a comment. References in comments are not replaced. */
  checkComment(start: number, end: number): void {
    for (let offset = start; offset < end; offset++) {
      if (this.text.charCodeAt(offset) !== LESS_THAN) continue;
      const tag = tagAt(this.text, offset, end);
      if (tag?.shape === 'plain') this.#reportUnknown(tag, readTag(tag, this.#context), 'comment');
    }
  }

  #siteOfPlaceholder(offset: number, limit: number, isInCode = false): Site | undefined {
    const placeholder = placeholderAt(this.text, offset, limit);
    if (placeholder === undefined || (isInCode && !hasOnlyWords(placeholder.name))) return undefined;
    const name = this.#kind === 'function' ? placeholder.name.trim() : placeholder.name;
    if (name === '') return undefined;
    return { kind: 'env', start: offset, end: placeholder.end, text: placeholder.text, name };
  }

  #siteOfTag(tag: Tag, syntaxPosition: SyntaxPosition): Site | undefined {
    const meaning = readTag(tag, this.#context);
    if (tag.shape !== 'plain' && !isVariableWithSpace(tag, meaning)) return this.#malformedSite(tag, meaning);
    if (meaning.kind !== 'reference') {
      this.#reportUnknown(tag, meaning, syntaxPosition);
      return undefined;
    }
    if (meaning.block !== undefined) this.#reportKnown(tag, meaning.block, syntaxPosition);
    if (this.#kind === 'expression' && syntaxPosition === 'string')
      this.#report('quoted-reference', tag, syntaxPosition);
    return { kind: 'reference', start: tag.start, end: tag.end, text: tag.text, ref: meaning.ref };
  }

  #malformedSite(tag: Tag, meaning: TagMeaning): Site | undefined {
    if (this.#kind !== 'function' || meaning.kind !== 'reference' || meaning.block === undefined)
      return undefined;
    return { kind: 'malformed', start: tag.start, end: tag.end, text: tag.text };
  }

  #reportKnown(tag: Tag, block: NamedBlock, syntaxPosition: SyntaxPosition): void {
    if (tag.path === undefined && isHtmlElement(tag.root)) this.#report('html-name', tag, syntaxPosition);
    if (neverRuns(this.#context.names, block)) this.#report('disabled-block', tag, syntaxPosition);
  }

  #reportUnknown(tag: Tag, meaning: TagMeaning, syntaxPosition: SyntaxPosition): void {
    if (meaning.kind === 'unknown-variable' && syntaxPosition !== 'comment') {
      this.#report('unknown-variable', tag, syntaxPosition, {
        name: meaning.name,
        suggestion: suggestVariable(this.#context.names, meaning.name),
      });
    }
    if (meaning.kind === 'unknown-block' && (syntaxPosition === 'code' || tag.path !== undefined)) {
      this.#report('unknown-block', tag, syntaxPosition, {
        name: tag.root,
        suggestion: this.#suggestionFor(tag.root),
      });
    }
  }

  /** Returns the most similar block name. Reserved roots have none: `<loop.index>` is not a misspelled "loop1". */
  #suggestionFor(root: string): { name: string; distance: number } | undefined {
    return isReserved(root) ? undefined : suggestBlock(this.#context.names, root);
  }

  #report(
    kind: ReferenceFinding['kind'],
    tag: Tag,
    syntaxPosition: SyntaxPosition,
    names: { name: string; suggestion: { name: string; distance: number } | undefined } = {
      name: tag.root,
      suggestion: undefined,
    },
  ): void {
    const finding: ReferenceFinding = {
      kind,
      text: tag.text,
      name: names.name,
      syntaxPosition,
      offset: tag.start,
      hasPath: tag.path !== undefined,
    };
    if (names.suggestion !== undefined)
      Object.assign(finding, { suggestion: names.suggestion.name, distance: names.suggestion.distance });
    this.findings.push(finding);
  }
}

function isVariableWithSpace(tag: Tag, meaning: TagMeaning): boolean {
  if (tag.shape !== 'with-space') return false;
  if (meaning.kind === 'unknown-variable') return hasOnlyWords(tag.text.slice(1, -1));
  return meaning.kind === 'reference' && meaning.ref.kind === 'variable';
}

/** Elements of the HTML standard, including obsolete ones that authors still use. */
const HTML_ELEMENTS = new Set(
  `a abbr acronym address applet area article aside audio b base bdi bdo big blink blockquote body br button canvas
  caption center cite code col colgroup data datalist dd del details dfn dialog dir div dl dt em embed fieldset
  figcaption figure font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins
  kbd label legend li link main map mark marquee math menu meta meter nav noframes noscript object ol optgroup option
  output p param picture pre progress q rp rt ruby s samp script search section select slot small source span strike
  strong style sub summary sup svg table tbody td template textarea tfoot th thead time title tr track tt u ul var
  video wbr`.split(/\s+/),
);

/** Returns true for the name of an HTML element (case-insensitive). */
function isHtmlElement(name: string): boolean {
  return HTML_ELEMENTS.has(name.toLowerCase());
}
