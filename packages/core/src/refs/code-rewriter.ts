import type { Site } from './sites.ts';
import type { Binding, ExpressionKind, Quote } from './template.ts';

/** The syntactic context of a site, which determines what is bound for it. `pattern`: a regular expression. */
export type SiteContext = 'code' | 'pattern' | Quote;

/** Replaces the references and placeholders (sites) of code by identifiers, and collects their bindings. */
export class CodeRewriter {
  readonly source: string;
  readonly bindings: Binding[] = [];
  readonly #expressionKind: ExpressionKind | undefined;
  readonly #prefix: string;
  readonly #pieces: string[] = [];
  #position = 0;

  /** `expressionKind`: undefined for the code of a function block. */
  constructor(source: string, expressionKind: ExpressionKind | undefined) {
    this.source = source;
    this.#expressionKind = expressionKind;
    this.#prefix = unusedPrefix(source);
  }

  /** Binds a site. Returns its identifier, or a constant for a malformed tag, which needs no binding. */
  bind(site: Site, siteContext: SiteContext): string {
    if (site.kind === 'malformed') return siteContext === 'code' ? 'undefined' : '"undefined"';
    const name = `${this.#prefix}${this.bindings.length}_`;
    this.bindings.push(
      site.kind === 'env'
        ? this.#envBinding(name, site, siteContext)
        : this.#referenceBinding(name, site, siteContext),
    );
    return name;
  }

  /** Replaces the source from `start` to `end` with `text`. Calls must be in the order of the source. */
  replace(start: number, end: number, text: string): void {
    this.#pieces.push(this.source.slice(this.#position, start), text);
    this.#position = end;
  }

  /** Returns the rewritten code. */
  finish(): string {
    return this.#pieces.join('') + this.source.slice(this.#position);
  }

  #envBinding(name: string, site: Extract<Site, { kind: 'env' }>, siteContext: SiteContext): Binding {
    const bare = siteContext === 'code';
    const form = bare && this.#expressionKind !== undefined ? 'literal' : 'text';
    return { bare, env: site.name, form, name, text: site.text };
  }

  #referenceBinding(
    name: string,
    { ref }: Extract<Site, { kind: 'reference' }>,
    siteContext: SiteContext,
  ): Binding {
    if (siteContext === 'pattern') return { form: 'pattern', name, ref };
    if (siteContext === 'code')
      return { form: this.#expressionKind === 'loop' ? 'loop' : 'value', name, ref };
    if (this.#expressionKind === undefined) return { form: 'json', name, ref };
    return { form: 'quoted', kind: this.#expressionKind, name, quote: siteContext, ref };
  }
}

/**
 * Returns a prefix for identifiers that does not occur in the source, so that it cannot clash with the user's names.
 */
function unusedPrefix(source: string): string {
  const usedNumbers = new Set(
    Array.from(source.matchAll(/__heddle(?=(\d*)_)/g), ([, number = '']) => number),
  );
  let number = '';
  for (let next = 0; usedNumbers.has(number); next++) number = String(next);
  return `__heddle${number}_`;
}
