import { StringDecoder } from 'node:string_decoder';
import { Stdout } from '../child/stdout.ts';
import { RESULT_MARK } from './layout.ts';

/** A line that goes on longer than this is cut, in characters. */
const LINE_CHARS = 65_536;

/** What the processes of a tree write, as lines; of a script with the line that is its result taken out. */
export class TreeOutput {
  readonly #stdout: Stdout;
  readonly #mark: string | null;
  readonly #resultChars: number;
  readonly #open = {
    stdout: { decoder: new StringDecoder('utf8'), tail: '' },
    stderr: { decoder: new StringDecoder('utf8'), tail: '' },
  };
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
    const lines = (open.tail + open.decoder.write(data)).split('\n');
    open.tail = lines.pop() ?? '';
    for (const line of lines) this.#line(line, stream);
    if (open.tail.length > this.#mostOf(open.tail, stream)) {
      this.#line(open.tail, stream);
      open.tail = '';
    }
  }

  /** The whole output. */
  end(): string {
    for (const stream of ['stdout', 'stderr'] as const) {
      const { tail, decoder } = this.#open[stream];
      const rest = tail + decoder.end();
      if (rest !== '') this.#line(rest, stream);
    }
    return this.#stdout.toString();
  }

  #isMarked(line: string, stream: 'stdout' | 'stderr'): boolean {
    return this.#mark !== null && stream === 'stdout' && line.startsWith(this.#mark);
  }

  #mostOf(line: string, stream: 'stdout' | 'stderr'): number {
    return this.#isMarked(line, stream) ? this.#resultChars + RESULT_MARK.length : LINE_CHARS;
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
