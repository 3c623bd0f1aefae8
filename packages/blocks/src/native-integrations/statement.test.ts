import { BlockError } from '@heddle/core/blocks';
import type { Json } from '@heddle/core/blocks';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bindReferences, conditionProblem } from './statement.ts';

/** Binds the references of a statement: each `@` in `authoredSql` is a reference to `value`. */
function bindStatement(authoredSql: string, value: Json, offset = 0) {
  const values: Json[] = [];
  const errorFor = (problem: string) => new BlockError('BLOCK_CONFIG_INVALID', problem);
  const parts = authoredSql
    .split('@')
    .flatMap((part, index): Json[] => (index === 0 ? [part] : [{ value }, part]));
  return { sql: bindReferences(parts, { values, offset, errorFor }), values };
}

/** Returns the SQL with its references bound, or why it is refused. */
function sqlOrRefusal(authoredSql: string, value: Json): string {
  try {
    return bindStatement(authoredSql, value).sql;
  } catch (error) {
    if (error instanceof BlockError) return error.message;
    throw error;
  }
}

const HOSTILE = `'"; DROP TABLE x; -- */ $$ \\`;

describe('references in statements', () => {
  it.each<[string, string, Json[]]>([
    ['SELECT * FROM t WHERE id = @', 'SELECT * FROM t WHERE id =  $1 ', [HOSTILE]],
    ["SELECT '@'", 'SELECT  $1 ', [HOSTILE]],
    ["SELECT '%@%' || 'a'", "SELECT  $1  || 'a'", [`%${HOSTILE}%`]],
    ["SELECT '''@'''", 'SELECT  $1 ', [`'${HOSTILE}'`]],
    ["SELECT '', @", "SELECT '',  $1 ", [HOSTILE]],
    ["SELECT 'it''s', @", "SELECT 'it''s',  $1 ", [HOSTILE]],
    [String.raw`SELECT E'it\'s', @`, String.raw`SELECT E'it\'s',  $1 `, [HOSTILE]],
    ['SELECT "a""b", @', 'SELECT "a""b",  $1 ', [HOSTILE]],
    ["SELECT $$it's$$, @", "SELECT $$it's$$,  $1 ", [HOSTILE]],
    ["SELECT $a$ $$ ' $a$, @", "SELECT $a$ $$ ' $a$,  $1 ", [HOSTILE]],
    ["SELECT a$b$c, '@'", 'SELECT a$b$c,  $1 ', [HOSTILE]],
    ["SELECT 1 -- it's\n, @", "SELECT 1 -- it's\n,  $1 ", [HOSTILE]],
    ["SELECT 1 /* it's /* a */ ' */, @", "SELECT 1 /* it's /* a */ ' */,  $1 ", [HOSTILE]],
    ['SELECT @, @', 'SELECT  $1 ,  $2 ', [HOSTILE, HOSTILE]],
    ['SELECT 1 -- @', 'SELECT 1 -- ', []],
    ['SELECT 1 /* @ */', 'SELECT 1 /*  */', []],
    ['SELECT "@"', `SELECT "'""; DROP TABLE x; -- */ $$ \\"`, []],
  ])('become parameters, parts of quoted names, or nothing in comments: %s', (authoredSql, sql, values) => {
    expect(bindStatement(authoredSql, HOSTILE)).toEqual({ sql, values });
  });

  it.each([
    'SELECT $$ @ $$',
    String.raw`SELECT E'\'@'`,
    "SELECT date'@'",
    "SELECT U&'@'",
    'SELECT tab_@',
    "SELECT '@",
  ])('are refused in places where they cannot be bound: %s', (authoredSql) => {
    expect(() => bindStatement(authoredSql, 'x')).toThrow(/^has a /);
  });

  it('are numbered after the parameters of the author', () => {
    expect(bindStatement('SELECT $1, $2, @', 7, 2).sql).toBe('SELECT $1, $2,  $3 ');
  });

  it('never let a value change the rest of a statement', () => {
    const fragment = fc.constantFrom(
      ...["'", '"', '--', '\n', '/*', '*/', '$$', '$a$', ' ', 'E', '\\', '@', '@', '(', 'x'],
    );
    fc.assert(
      fc.property(fc.array(fragment, { maxLength: 24 }), (fragments) => {
        const markedSql = sqlOrRefusal(fragments.join(''), 'MARK');
        const expected = markedSql.replaceAll('MARK', () => HOSTILE.replaceAll('"', '""'));
        expect(sqlOrRefusal(fragments.join(''), HOSTILE)).toBe(expected);
        // The statement contains values only as parts of quoted names.
        expect(markedSql.split('MARK', 2).length === 2 && !markedSql.split('MARK', 1)[0]?.includes('"')).toBe(
          false,
        );
      }),
    );
  });
});

describe('conditions', () => {
  it.each(['id = 1', "name = 'a)b;c' AND (a OR b)", 'a = 1 -- why', 'x IN ($1, $2) /* ) */', '"a)" = $$)$$'])(
    'are accepted: %s',
    (sql) => {
      expect(conditionProblem(sql)).toBeUndefined();
    },
  );

  it.each([
    '',
    '  ',
    '-- all',
    '/* all */',
    'id = 1; DELETE FROM t',
    'id = 1) OR (true',
    '(id = 1',
    "name = 'a",
    '"a',
    'a /*',
    '$$a',
  ])('are refused if they are empty or incomplete, or continue after their end: "%s"', (sql) => {
    expect(conditionProblem(sql)).toBeDefined();
  });
});
