import { LESS, OPEN_BRACE } from './grammar.ts';
import { skipLine } from './lexemes.ts';
import type { Site, SiteFinder } from './sites.ts';
import type { CodeRewriter } from './code-rewriter.ts';

/** The syntactic context of a character. */
type ShellContext = 'commands' | 'double';

/** A here-document whose text begins after the line, with the word that ends it. */
interface HereDocument {
  readonly end: string;
  readonly indented: boolean;
  /** True if its text is literal. */
  readonly literal: boolean;
}

const HERE_DOCUMENT = /<<(-?)[ \t]*(?:'([^'\n]+)'|"([^"\n]+)"|\\?([A-Za-z_][\w.-]*))/y;

/**
 * Binds the references and placeholders in a bash script, in one pass over its characters.
 *
 * A site becomes the expansion of a variable, quoted for its context, so that no value is read as code. The exception
 * is arithmetic, where bash itself evaluates the content of a variable and quotes do not help. Single quotes are closed
 * around a site. Comments and here-documents with a quoted word are unchanged. The number of lines stays the same.
 */
export function scanShell(finder: SiteFinder, rewriter: CodeRewriter): void {
  new ShellScanner(finder, rewriter).scan();
}

class ShellScanner {
  readonly #text: string;
  readonly #finder: SiteFinder;
  readonly #rewriter: CodeRewriter;
  /** The contexts around the current one, innermost last. */
  readonly #outerContexts: ShellContext[] = [];
  readonly #documents: HereDocument[] = [];
  #context: ShellContext = 'commands';
  #at = 0;

  constructor(finder: SiteFinder, rewriter: CodeRewriter) {
    this.#text = finder.text;
    this.#finder = finder;
    this.#rewriter = rewriter;
  }

  scan(): void {
    while (this.#at < this.#text.length) {
      if (this.#context === 'double') this.#inDouble();
      else this.#inCommands();
    }
  }

  #inCommands(): void {
    const character = this.#text.charAt(this.#at);
    if (character === '\n' && this.#documents.length > 0) return this.#hereDocuments();
    if (character === "'") return this.#singleQuotes();
    if (character === '#' && /^$|[\s;|&()]/.test(this.#text.charAt(this.#at - 1))) return this.#comment();
    if (character === '<' && this.#document()) return undefined;
    if (!this.#site((name) => `"\${${name}}"`)) this.#bracket(character);
    return undefined;
  }

  #bracket(character: string): void {
    if (character === '"') this.#enter('double');
    else if (character === '(') this.#enter('commands');
    else if (character === ')') this.#leave();
    this.#at += character === '\\' ? 2 : 1;
  }

  #inDouble(): void {
    const character = this.#text.charAt(this.#at);
    if (this.#site((name) => `\${${name}}`)) return;
    if (character === '"') this.#leave();
    else if (this.#text.startsWith('$(', this.#at)) {
      this.#enter('commands');
      this.#at++;
    }
    this.#at += character === '\\' ? 2 : 1;
  }

  #enter(next: ShellContext): void {
    this.#outerContexts.push(this.#context);
    this.#context = next;
  }

  #leave(): void {
    this.#context = this.#outerContexts.pop() ?? 'commands';
  }

  /** Closes the single quotes, puts the value into double quotes, and opens the single quotes again. */
  #singleQuotes(): void {
    const close = this.#text.indexOf("'", this.#at + 1);
    const end = close < 0 ? this.#text.length : close;
    for (this.#at++; this.#at < end;) {
      if (close < 0 || !this.#site((name) => `'"\${${name}}"'`, end)) this.#at++;
    }
    this.#at = end + 1;
  }

  #comment(): void {
    const end = skipLine(this.#text, this.#at);
    this.#finder.comment(this.#at, end);
    this.#at = end;
  }

  /** Records the here-document that a redirection announces. A here-string is not one. */
  #document(): boolean {
    if (this.#text.startsWith('<<<', this.#at)) {
      this.#at += 3;
      return true;
    }
    HERE_DOCUMENT.lastIndex = this.#at;
    const match = HERE_DOCUMENT.exec(this.#text);
    if (match === null) return false;
    const [, dash, single, double, word] = match;
    const end = single ?? double ?? word ?? '';
    this.#documents.push({
      end,
      indented: dash === '-',
      literal: word === undefined || match[0].includes('\\'),
    });
    this.#at = HERE_DOCUMENT.lastIndex;
    return true;
  }

  /** Skips the lines of the announced here-documents. */
  #hereDocuments(): void {
    this.#at++;
    for (const document of this.#documents.splice(0)) {
      while (this.#at < this.#text.length && !this.#endsAtLine(document)) {
        const end = skipLine(this.#text, this.#at);
        while (this.#at < end) {
          const isEscape = this.#text.charAt(this.#at) === '\\';
          if (document.literal || isEscape || !this.#site((name) => `\${${name}}`, end))
            this.#at += isEscape ? 2 : 1;
        }
        this.#at = end + 1;
      }
    }
  }

  #endsAtLine({ end, indented }: HereDocument): boolean {
    const lineEnd = skipLine(this.#text, this.#at);
    const line = this.#text.slice(this.#at, lineEnd);
    if ((indented ? line.replace(/^\t+/, '') : line) !== end) return false;
    this.#at = lineEnd;
    return true;
  }

  #site(expansion: (name: string) => string, limit = this.#text.length): boolean {
    const code = this.#text.charCodeAt(this.#at);
    const site: Site | undefined =
      code === LESS || code === OPEN_BRACE ? this.#finder.inText(this.#at, limit) : undefined;
    if (site === undefined || site.kind === 'blank') return false;
    // A placeholder with an unknown name keeps its text, as the value of its variable.
    const name = this.#rewriter.bind(site, site.kind === 'env' ? '"' : 'code');
    this.#rewriter.replace(site.start, site.end, expansion(name));
    this.#at = site.end;
    return true;
  }
}
