import { Readable, Writable } from 'node:stream';

/** A stream that stores the written text. */
export class Kept extends Writable {
  text = '';
  readonly isTTY: boolean;

  constructor(isTTY = false) {
    super({ decodeStrings: false });
    this.isTTY = isTTY;
  }

  override _write(chunk: string, _encoding: string, done: () => void): void {
    this.text += chunk;
    done();
  }
}

/** Returns the streams of a command without a terminal: `stdin` has this text, stdout and stderr store their text. */
export function keptIo(stdin = ''): { stdin: Readable; stdout: Kept; stderr: Kept } {
  return { stdin: Readable.from([stdin]), stdout: new Kept(), stderr: new Kept() };
}
