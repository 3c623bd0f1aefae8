import { safe } from './style.ts';
import type { Style } from './style.ts';

/** Returns the failing line with its neighbours, as authored. Empty if there is no such line. */
export function codeFrame(authored: string | undefined, line: unknown, style: Style): string[] {
  if (authored === undefined || typeof line !== 'number') return [];
  const lines = authored.split(/\r\n|\r|\n/);
  if (line < 1 || line > lines.length) return [];
  const from = Math.max(1, line - 2);
  const to = Math.min(lines.length, line + 1);
  const width = String(to).length;
  const frame: string[] = [''];
  for (let number = from; number <= to; number++) {
    const text = `${String(number).padStart(width)} │ ${safe(lines[number - 1] ?? '')}`;
    frame.push(number === line ? `  ${style.red('▸')} ${text}` : `    ${style.dim(text)}`);
  }
  return frame;
}
