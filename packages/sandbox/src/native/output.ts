import { StringDecoder } from 'node:string_decoder';
import { Stdout } from '../child/stdout.ts';
import { RESULT_MARK } from './layout.ts';

/** A line that goes on longer than this is cut, in characters. */
const LINE_CHARS = 65_536;

/** A line that is not at its end. It may come in pieces of one character each, so nothing looks at the whole of it for every piece. */
class OpenLine {
  text = '';
  /** Enough of its beginning to know it by. */
  start = '';
  readonly #decoder = new StringDecoder('utf8');

  decode(data: Buffer): string {
    return this.#decoder.write(data);
  }

  /** What is left of a character that was not whole. */
  end(): string {
    return this.#decoder.end();
  }

  add(piece: string): void {
    this.text += piece;
    if (this.start.length < RESULT_MARK.length)
      this.start = (this.start + piece).slice(0, RESULT_MARK.length);
  }

  take(): string {
    const { text } = this;
    this.text = this.start = '';
    return text;
  }
}

/** What the processes of a tree write, as lines; of a script with the line that is its result taken out. */
export class TreeOutput {
  readonly #stdout: Stdout;
  readonly #mark: string | null;
  readonly #resultChars: number;
  readonly #open = { stdout: new OpenLine(), stderr: new OpenLine() };
  /** What stood after the mark the last time; null: nowhere. */
  result: string | null = null;
  isResultTooLarge = false;

  constructor(
    limits: { readonly stdoutChars: number; readonly logLines: number; readonly resultChars: number },
    hasMark: boolean,
  ) {
    this.#stdout = new Stdout(limits.stdoutChars, limits.logLines);
    this.#mark = hasMark ? RESULT_MARK : null;
    this.#resultChars = limits.resultChars;
  }

  add(data: Buffer, stream: 'stdout' | 'stderr'): void {
    const open = this.#open[stream];
    const [first = '', ...more] = open.decode(data).split('\n');
    open.add(first);
    for (const piece of more) {
      this.#line(open.take(), stream);
      open.add(piece);
    }
    if (open.text.length > this.#mostOf(open, stream)) this.#line(open.take(), stream);
  }

  /** The whole output. */
  end(): string {
    for (const stream of ['stdout', 'stderr'] as const) {
      const open = this.#open[stream];
      open.add(open.end());
      if (open.text !== '') this.#line(open.take(), stream);
    }
    return this.#stdout.toString();
  }

  #isMarked(line: string, stream: 'stdout' | 'stderr'): boolean {
    return this.#mark !== null && stream === 'stdout' && line.startsWith(this.#mark);
  }

  #mostOf(open: OpenLine, stream: 'stdout' | 'stderr'): number {
    return this.#isMarked(open.start, stream) ? this.#resultChars + RESULT_MARK.length : LINE_CHARS;
  }

  #line(line: string, stream: 'stdout' | 'stderr'): void {
    if (!this.#isMarked(line, stream)) {
      this.#stdout.add(line);
      return;
    }
    this.result = line.slice(RESULT_MARK.length).replace(/\r$/, '');
    this.isResultTooLarge ||= this.result.length > this.#resultChars;
  }
}
