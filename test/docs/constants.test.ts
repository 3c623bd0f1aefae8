import { describe, expect, it } from 'vitest';
import { constantAt } from './constants.ts';
import { codeIn, pages, readPage, tablesOf } from './markdown.ts';

/** The rows of tables of constants. The second cell is a number, the last cell `file#NAME` or `file#NAME.key`. */
const rows = pages
  .flatMap((page) => tablesOf(page, readPage(page)))
  .filter(({ name }) => name === 'constants')
  .flatMap((table) => table.rows)
  .map(({ cells }) => ({
    documentedValue: numberIn(cells[1] ?? ''),
    location: codeIn(cells.at(-1) ?? '') ?? '',
  }));

function numberIn(cell: string): number {
  return Number(cell.replaceAll(',', ''));
}

describe('the constants of the documentation', () => {
  it('are found', () => {
    expect(rows.length).toBeGreaterThan(25);
  });

  it.each(rows.map((row) => [row.location, row] as const))(
    'have the value in the source: %s',
    (_, { documentedValue, location }) => {
      expect(constantAt(location)).toBe(documentedValue);
    },
  );

  it('are read from every form of declaration', () => {
    const text = `const A = 2 ** 3 - 1; const B = { c: 64 * 1024, d: { e: [1, 2] } } as const; const { f = 5_000 } = g;`;
    const read = (): string => text;
    const locations = ['x#A', 'x#B.c', 'x#B.d', 'x#B.d.e.1', 'x#f', 'x#H'];
    expect(locations.map((location) => constantAt(location, read))).toEqual([
      7,
      65_536,
      undefined,
      2,
      5000,
      undefined,
    ]);
  });
});
