import { Readable, Writable } from 'node:stream';

/** A stream that stores the written text. */
export class RecordingStream extends Writable {
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

/** Returns the streams of a command without a terminal. The command reads the text `stdin`; its output is stored. */
export function createRecordingIo(stdin = ''): {
  stdin: Readable;
  stdout: RecordingStream;
  stderr: RecordingStream;
} {
  return { stdin: Readable.from([stdin]), stdout: new RecordingStream(), stderr: new RecordingStream() };
}
