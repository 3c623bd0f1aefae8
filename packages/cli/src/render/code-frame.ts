import { sanitize } from './style.ts';
import type { Style } from './style.ts';

/** Returns the failing line with its neighbours, as authored. Empty if there is no such line. */
export function codeFrame(authoredCode: string | undefined, line: unknown, style: Style): string[] {
  if (authoredCode === undefined || typeof line !== 'number') return [];
  const lines = authoredCode.split(/\r\n|\r|\n/);
  if (line < 1 || line > lines.length) return [];
  const firstNumber = Math.max(1, line - 2);
  const lastNumber = Math.min(lines.length, line + 1);
  const width = String(lastNumber).length;
  const frame: string[] = [''];
  for (let lineNumber = firstNumber; lineNumber <= lastNumber; lineNumber++) {
    const text = `${String(lineNumber).padStart(width)} │ ${sanitize(lines[lineNumber - 1] ?? '')}`;
    frame.push(lineNumber === line ? `  ${style.red('▸')} ${text}` : `    ${style.dim(text)}`);
  }
  return frame;
}
