import type { OutputStream } from '../io.ts';

/** Writes progress: permanent lines and, on a capable terminal, a status line below them. */
export interface TerminalOutput {
  /** Writes permanent lines. */
  print(lines: readonly string[]): void;
  /** Replaces the status line. An empty line removes it. */
  setStatus(line: string): void;
}

const CLEAR = '\r\u001B[2K';
// Without wrapping, a line wider than the terminal stays one line, and clearing it clears all of it.
const NO_WRAP = '\u001B[?7l';
const WRAP = '\u001B[?7h';

/**
 * Returns an output that writes to the stream. `hasStatusLine`: true if the stream is a terminal that can show a status
 * line.
 */
export function createTerminalOutput(stream: OutputStream, hasStatusLine: boolean): TerminalOutput {
  if (!hasStatusLine) {
    return {
      print: (lines) => void stream.write(lines.map((line) => `${line}\n`).join('')),
      setStatus: () => undefined,
    };
  }
  let currentLine = '';
  const setStatus = (line: string): void => {
    if (line === currentLine) return;
    stream.write(line === '' ? CLEAR : `${CLEAR}${NO_WRAP}${line}${WRAP}`);
    currentLine = line;
  };
  return {
    print(lines) {
      if (lines.length === 0) return;
      const previousLine = currentLine;
      stream.write(`${currentLine === '' ? '' : CLEAR}${lines.map((line) => `${line}\n`).join('')}`);
      currentLine = '';
      setStatus(previousLine);
    },
    setStatus,
  };
}
