import type { Site } from './sites.ts';
import type { Binding, ExpressionKind, Quote } from './template.ts';

/** The syntactic context of a site, which determines what is bound for it. `pattern`: a regular expression. */
export type SiteContext = 'code' | 'pattern' | Quote;

/** Rewrites code with identifiers in place of its sites, and collects the bindings of those identifiers. */
export class CodeRewriter {
  readonly source: string;
  readonly bindings: Binding[] = [];
  readonly #expression: ExpressionKind | undefined;
  readonly #prefix: string;
  readonly #pieces: string[] = [];
  #copied = 0;

  /** `expression`: the kind of expression; undefined for the code of a function block. */
  constructor(source: string, expression: ExpressionKind | undefined) {
    this.source = source;
    this.#expression = expression;
    this.#prefix = freshPrefix(source);
  }

  /** Binds a site. Returns its identifier, or the text of its constant. */
  bind(site: Site, surroundings: SiteContext): string {
    if (site.kind === 'blank') return surroundings === 'code' ? 'undefined' : '"undefined"';
    const name = `${this.#prefix}${this.bindings.length}_`;
    this.bindings.push(
      site.kind === 'env' ? this.#env(name, site, surroundings) : this.#reference(name, site, surroundings),
    );
    return name;
  }

  /** Replaces the source from `start` to `end` by `text`. Calls must be in order. */
  replace(start: number, end: number, text: string): void {
    this.#pieces.push(this.source.slice(this.#copied, start), text);
    this.#copied = end;
  }

  /** Returns the rewritten code. */
  finish(): string {
    return this.#pieces.join('') + this.source.slice(this.#copied);
  }

  #env(name: string, site: Extract<Site, { kind: 'env' }>, surroundings: SiteContext): Binding {
    const bare = surroundings === 'code';
    const form = bare && this.#expression !== undefined ? 'literal' : 'text';
    return { bare, env: site.name, form, name, text: site.text };
  }

  #reference(
    name: string,
    { ref }: Extract<Site, { kind: 'reference' }>,
    surroundings: SiteContext,
  ): Binding {
    if (surroundings === 'pattern') return { form: 'pattern', name, ref };
    if (surroundings === 'code') return { form: this.#expression === 'loop' ? 'loop' : 'value', name, ref };
    if (this.#expression === undefined) return { form: 'json', name, ref };
    return { form: 'quoted', kind: this.#expression, name, quote: surroundings, ref };
  }
}

/**
 * Returns a prefix for identifiers that does not occur in the source, so that it cannot clash with the user's names.
 */
function freshPrefix(source: string): string {
  const used = new Set(Array.from(source.matchAll(/__heddle(?=(\d*)_)/g), ([, number = '']) => number));
  let number = '';
  for (let next = 0; used.has(number); next++) number = String(next);
  return `__heddle${number}_`;
}
