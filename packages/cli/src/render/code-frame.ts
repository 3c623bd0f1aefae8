import { sanitize } from './style.ts';
import type { Style } from './style.ts';

/** Returns the failing line with its neighbours, as authored. Empty if there is no such line. */
export function codeFrame(authored: string | undefined, line: unknown, style: Style): string[] {
  if (authored === undefined || typeof line !== 'number') return [];
  const lines = authored.split(/\r\n|\r|\n/);
  if (line < 1 || line > lines.length) return [];
  const firstNumber = Math.max(1, line - 2);
  const lastNumber = Math.min(lines.length, line + 1);
  const width = String(lastNumber).length;
  const frame: string[] = [''];
  for (let number = firstNumber; number <= lastNumber; number++) {
    const text = `${String(number).padStart(width)} │ ${sanitize(lines[number - 1] ?? '')}`;
    frame.push(number === line ? `  ${style.red('▸')} ${text}` : `    ${style.dim(text)}`);
  }
  return frame;
}
