import { StringDecoder } from 'node:string_decoder';
import { Stdout } from '../child/stdout.ts';
import { RESULT_PREFIX } from './layout.ts';

/** Maximum length of a line in characters; longer lines are split. */
const LINE_CHARS = 65_536;

/** An unfinished line. It may arrive one character at a time, so no operation scans the whole line per chunk. */
class PartialLine {
  text = '';
  /** The beginning of the line, long enough to recognize the result prefix. */
  start = '';
  readonly #decoder = new StringDecoder('utf8');

  decode(data: Buffer): string {
    return this.#decoder.write(data);
  }

  /** Returns the remaining bytes of an incomplete character. */
  end(): string {
    return this.#decoder.end();
  }

  add(fragment: string): void {
    this.text += fragment;
    if (this.start.length < RESULT_PREFIX.length)
      this.start = (this.start + fragment).slice(0, RESULT_PREFIX.length);
  }

  take(): string {
    const { text } = this;
    this.text = this.start = '';
    return text;
  }
}

/** Collects the output of a process tree as lines. For a script, extracts the line with its result. */
export class ProcessTreeOutput {
  readonly #stdout: Stdout;
  readonly #resultPrefix: string | undefined;
  readonly #resultChars: number;
  readonly #partialLines = { stdout: new PartialLine(), stderr: new PartialLine() };
  /** The last result line without its prefix; undefined if there was none. */
  result: string | undefined;
  isResultTooLarge = false;

  constructor(
    limits: { readonly stdoutChars: number; readonly logLines: number; readonly resultChars: number },
    hasResult: boolean,
  ) {
    this.#stdout = new Stdout(limits.stdoutChars, limits.logLines);
    this.#resultPrefix = hasResult ? RESULT_PREFIX : undefined;
    this.#resultChars = limits.resultChars;
  }

  add(data: Buffer, stream: 'stdout' | 'stderr'): void {
    const partialLine = this.#partialLines[stream];
    const [firstFragment = '', ...fragments] = partialLine.decode(data).split('\n');
    partialLine.add(firstFragment);
    for (const fragment of fragments) {
      this.#addLine(partialLine.take(), stream);
      partialLine.add(fragment);
    }
    if (partialLine.text.length > this.#maxChars(partialLine, stream))
      this.#addLine(partialLine.take(), stream);
  }

  /** Ends the output and returns all of it. */
  end(): string {
    for (const stream of ['stdout', 'stderr'] as const) {
      const partialLine = this.#partialLines[stream];
      partialLine.add(partialLine.end());
      if (partialLine.text !== '') this.#addLine(partialLine.take(), stream);
    }
    return this.#stdout.toString();
  }

  #isResult(line: string, stream: 'stdout' | 'stderr'): boolean {
    return this.#resultPrefix !== undefined && stream === 'stdout' && line.startsWith(this.#resultPrefix);
  }

  #maxChars(line: PartialLine, stream: 'stdout' | 'stderr'): number {
    return this.#isResult(line.start, stream) ? this.#resultChars + RESULT_PREFIX.length : LINE_CHARS;
  }

  #addLine(line: string, stream: 'stdout' | 'stderr'): void {
    if (!this.#isResult(line, stream)) {
      this.#stdout.add(line);
      return;
    }
    this.result = line.slice(RESULT_PREFIX.length).replace(/\r$/, '');
    this.isResultTooLarge ||= this.result.length > this.#resultChars;
  }
}
