import type { OutStream } from '../io.ts';

/** Where progress goes: lines that stay and, on a terminal that can, one line below them that is rewritten. */
export interface Painter {
  /** Writes lines that stay. */
  print(lines: readonly string[]): void;
  /** Shows the line that changes; empty takes it away. */
  status(line: string): void;
}

const CLEAR = '\r\u001B[2K';
// Without wrapping, a line wider than the terminal stays one line, and clearing it clears all of it.
const NO_WRAP = '\u001B[?7l';
const WRAP = '\u001B[?7h';

/** A painter for a terminal (`updating`), or for anything else, which gets only the lines that stay. */
export function createPainter(stream: OutStream, updating: boolean): Painter {
  if (!updating) {
    return {
      print: (lines) => void stream.write(lines.map((line) => `${line}\n`).join('')),
      status: () => undefined,
    };
  }
  let shown = '';
  const status = (line: string): void => {
    if (line === shown) return;
    stream.write(line === '' ? CLEAR : `${CLEAR}${NO_WRAP}${line}${WRAP}`);
    shown = line;
  };
  return {
    print(lines) {
      if (lines.length === 0) return;
      const before = shown;
      stream.write(`${shown === '' ? '' : CLEAR}${lines.map((line) => `${line}\n`).join('')}`);
      shown = '';
      status(before);
    },
    status,
  };
}
