import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync } from 'oxc-parser';
import { describe, expect, it } from 'vitest';
import { walk } from '../house/sources.ts';
import { codeIn, pages, readPage, repository, tablesOf } from './markdown.ts';

type Node = Record<string, unknown>;

/** Tables of constants: the second cell is a number, the last one `file#NAME` or `file#NAME.key`. */
const rows = pages
  .flatMap((page) => tablesOf(page, readPage(page)))
  .filter(({ name }) => name === 'constants')
  .flatMap((table) => table.rows)
  .map(({ at, cells }) => ({
    at,
    shown: numberIn(cells[1] ?? ''),
    constant: codeIn(cells.at(-1) ?? '') ?? '',
  }));

function numberIn(cell: string): number {
  return Number(cell.replaceAll(',', ''));
}

/** The value of an expression of numbers; undefined for anything else. */
function valueOf(node: unknown): number | undefined {
  const { type, value, left, right, operator, expression } = node as Node;
  if (type === 'Literal') return typeof value === 'number' ? value : undefined;
  if (type === 'TSAsExpression' || type === 'ParenthesizedExpression') return valueOf(expression);
  if (type !== 'BinaryExpression') return undefined;
  const [a = Number.NaN, b = Number.NaN] = [valueOf(left), valueOf(right)];
  return operator === '*' ? a * b : operator === '**' ? a ** b : operator === '-' ? a - b : undefined;
}

/** What a constant, or a default of a destructuring, is set to in a source. */
function initializer(text: string, name: string): unknown {
  let found: unknown;
  walk(parseSync('x.ts', text).program.body, (node) => {
    const { type, id, init, left, right } = node;
    const named = (type === 'VariableDeclarator' ? id : type === 'AssignmentPattern' ? left : undefined) as
      | Node
      | undefined;
    if (named?.['name'] === name) found ??= type === 'VariableDeclarator' ? init : right;
  });
  return found;
}

function property(object: unknown, key: string): unknown {
  const { type, expression, properties } = (object ?? {}) as Node;
  if (type === 'TSAsExpression') return property(expression, key);
  return (properties as Node[] | undefined)?.find((one) => (one['key'] as Node)['name'] === key)?.['value'];
}

function constantAt(place: string, read: (file: string) => string): number | undefined {
  const [file = '', path = ''] = place.split('#');
  const [name = '', key] = path.split('.');
  const value = initializer(read(file), name);
  const node = key === undefined ? value : property(value, key);
  return node === undefined ? undefined : valueOf(node);
}

function source(file: string): string {
  return readFileSync(join(repository, 'packages', file), 'utf8');
}

describe('the constants of the documentation', () => {
  it('are found', () => {
    expect(rows.length).toBeGreaterThan(35);
  });

  it.each(rows.map((row) => [row.constant, row] as const))(
    'are what the source says: %s',
    (_, { shown, constant }) => {
      expect(constantAt(constant, source)).toBe(shown);
    },
  );

  it('are read in every form', () => {
    const text = `const A = 2 ** 3 - 1; const B = { c: 64 * 1024, d: { e: 1 } } as const; const { f = 5_000 } = g;`;
    const read = (): string => text;
    expect(['x#A', 'x#B.c', 'x#B.d', 'x#f', 'x#H'].map((place) => constantAt(place, read))).toEqual([
      7,
      65_536,
      undefined,
      5000,
      undefined,
    ]);
  });
});
