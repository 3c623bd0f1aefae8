import stringWidth from 'fast-string-width';
import type { Io } from '../io.ts';
import { styleFor } from './style.ts';

/** Pads text with spaces to `width` terminal columns. */
export function pad(text: string, width: number, side: 'left' | 'right' = 'right'): string {
  const padding = ' '.repeat(Math.max(0, width - stringWidth(text)));
  return side === 'right' ? text + padding : padding + text;
}

/** Cuts text to `width` terminal columns with an ellipsis. Only for text without styles. */
export function truncate(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let truncated = '';
  let usedWidth = 1;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    usedWidth += stringWidth(segment);
    if (usedWidth > width) break;
    truncated += segment;
  }
  return `${truncated}…`;
}

/** Aligns the columns of rows, with two spaces between them. Cells may have styles. */
export function tableLines(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = [];
  for (const row of rows) {
    row.forEach((cell, column) => {
      widths[column] = Math.max(widths[column] ?? 0, stringWidth(cell));
    });
  }
  return rows.map((row) =>
    row
      .map((cell, column) => (column === row.length - 1 ? cell : pad(cell, widths[column] ?? 0)))
      .join('  ')
      .trimEnd(),
  );
}

/** Writes a table with titles to stdout. Cells may have styles. */
export function writeTable(
  io: Pick<Io, 'stdout'>,
  titles: readonly string[],
  rows: readonly (readonly string[])[],
): void {
  const headerRow = titles.map((title) => styleFor(io.stdout).dim(title));
  io.stdout.write(`${tableLines([headerRow, ...rows]).join('\n')}\n`);
}
