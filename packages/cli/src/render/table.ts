import stringWidth from 'fast-string-width';

/** The text, filled with spaces to `width` columns of a terminal. */
export function pad(text: string, width: number, side: 'left' | 'right' = 'right'): string {
  const fill = ' '.repeat(Math.max(0, width - stringWidth(text)));
  return side === 'right' ? text + fill : fill + text;
}

/** The text, cut to `width` columns with an ellipsis. Only for text without styles. */
export function clip(text: string, width: number): string {
  if (stringWidth(text) <= width) return text;
  let clipped = '';
  let used = 1;
  for (const { segment } of new Intl.Segmenter().segment(text)) {
    used += stringWidth(segment);
    if (used > width) break;
    clipped += segment;
  }
  return `${clipped}…`;
}

/** Rows as lines with aligned columns, two spaces between them; cells may be styled. */
export function table(rows: readonly (readonly string[])[]): string[] {
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
