import { LESS_THAN, OPEN_BRACE } from './grammar.ts';
import { skipLine } from './lexemes.ts';
import type { Site, SiteFinder } from './sites.ts';
import type { CodeRewriter } from './code-rewriter.ts';

/** The syntactic context of a character. `double-quotes`: inside double quotes. */
type ShellContext = 'commands' | 'double-quotes';

/** A here-document: its text begins on the next line and ends before a line that is `endWord`. */
interface HereDocument {
  readonly endWord: string;
  /** True if leading tabs are ignored (`<<-`). */
  readonly stripsTabs: boolean;
  /** True if bash does not expand its text. */
  readonly isLiteral: boolean;
}

const HERE_DOCUMENT = /<<(-?)[ \t]*(?:'([^'\n]+)'|"([^"\n]+)"|\\?([A-Za-z_][\w.-]*))/y;

/**
 * Binds the sites (references and placeholders) in a bash script, in one pass over its characters.
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
  readonly #pendingDocuments: HereDocument[] = [];
  #context: ShellContext = 'commands';
  #offset = 0;

  constructor(finder: SiteFinder, rewriter: CodeRewriter) {
    this.#text = finder.text;
    this.#finder = finder;
    this.#rewriter = rewriter;
  }

  scan(): void {
    while (this.#offset < this.#text.length) {
      if (this.#context === 'double-quotes') this.#scanDoubleQuotes();
      else this.#scanCommands();
    }
  }

  #scanCommands(): void {
    const character = this.#text.charAt(this.#offset);
    if (character === '\n' && this.#pendingDocuments.length > 0) return this.#scanDocuments();
    if (character === "'") return this.#scanSingleQuotes();
    if (character === '#' && /^$|[\s;|&()]/.test(this.#text.charAt(this.#offset - 1)))
      return this.#scanComment();
    if (character === '<' && this.#readDocumentStart()) return undefined;
    if (!this.#bindSite((name) => `"\${${name}}"`)) this.#scanCharacter(character);
    return undefined;
  }

  #scanCharacter(character: string): void {
    if (character === '"') this.#enter('double-quotes');
    else if (character === '(') this.#enter('commands');
    else if (character === ')') this.#leave();
    this.#offset += character === '\\' ? 2 : 1;
  }

  #scanDoubleQuotes(): void {
    const character = this.#text.charAt(this.#offset);
    if (this.#bindSite((name) => `\${${name}}`)) return;
    if (character === '"') this.#leave();
    else if (this.#text.startsWith('$(', this.#offset)) {
      this.#enter('commands');
      this.#offset++;
    }
    this.#offset += character === '\\' ? 2 : 1;
  }

  #enter(context: ShellContext): void {
    this.#outerContexts.push(this.#context);
    this.#context = context;
  }

  #leave(): void {
    this.#context = this.#outerContexts.pop() ?? 'commands';
  }

  /** Closes the single quotes, puts the value into double quotes, and opens the single quotes again. */
  #scanSingleQuotes(): void {
    const closeOffset = this.#text.indexOf("'", this.#offset + 1);
    const end = closeOffset < 0 ? this.#text.length : closeOffset;
    for (this.#offset++; this.#offset < end;) {
      if (closeOffset < 0 || !this.#bindSite((name) => `'"\${${name}}"'`, end)) this.#offset++;
    }
    this.#offset = end + 1;
  }

  #scanComment(): void {
    const end = skipLine(this.#text, this.#offset);
    this.#finder.checkComment(this.#offset, end);
    this.#offset = end;
  }

  /**
   * Reads the start of a here-document, which is scanned after the line, or of a here-string. Returns false if there is
   * neither.
   */
  #readDocumentStart(): boolean {
    if (this.#text.startsWith('<<<', this.#offset)) {
      this.#offset += 3;
      return true;
    }
    HERE_DOCUMENT.lastIndex = this.#offset;
    const match = HERE_DOCUMENT.exec(this.#text);
    if (match === null) return false;
    const [, dash, singleQuotedWord, doubleQuotedWord, unquotedWord] = match;
    const endWord = singleQuotedWord ?? doubleQuotedWord ?? unquotedWord ?? '';
    this.#pendingDocuments.push({
      endWord,
      stripsTabs: dash === '-',
      isLiteral: unquotedWord === undefined || match[0].includes('\\'),
    });
    this.#offset = HERE_DOCUMENT.lastIndex;
    return true;
  }

  /** Scans the pending here-documents, which begin on the next line. */
  #scanDocuments(): void {
    this.#offset++;
    for (const document of this.#pendingDocuments.splice(0)) {
      while (this.#offset < this.#text.length && !this.#skipEndLine(document)) {
        const end = skipLine(this.#text, this.#offset);
        while (this.#offset < end) {
          const isEscape = this.#text.charAt(this.#offset) === '\\';
          if (document.isLiteral || isEscape || !this.#bindSite((name) => `\${${name}}`, end))
            this.#offset += isEscape ? 2 : 1;
        }
        this.#offset = end + 1;
      }
    }
  }

  /** Moves to the end of the line and returns true if the line ends the document. */
  #skipEndLine({ endWord, stripsTabs }: HereDocument): boolean {
    const lineEnd = skipLine(this.#text, this.#offset);
    const line = this.#text.slice(this.#offset, lineEnd);
    if ((stripsTabs ? line.replace(/^\t+/, '') : line) !== endWord) return false;
    this.#offset = lineEnd;
    return true;
  }

  #bindSite(expansionOf: (name: string) => string, limit = this.#text.length): boolean {
    const code = this.#text.charCodeAt(this.#offset);
    const site: Site | undefined =
      code === LESS_THAN || code === OPEN_BRACE ? this.#finder.findInText(this.#offset, limit) : undefined;
    if (site === undefined || site.kind === 'malformed') return false;
    // A placeholder with an unknown name keeps its text, as the value of its variable.
    const name = this.#rewriter.bind(site, site.kind === 'env' ? '"' : 'code');
    this.#rewriter.replace(site.start, site.end, expansionOf(name));
    this.#offset = site.end;
    return true;
  }
}
