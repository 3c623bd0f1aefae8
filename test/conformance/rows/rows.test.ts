import { describe, expect, it } from 'vitest';
import { TABLES, conformancePage, idsOf, linked, missingTests, readRows } from './rows.ts';

const rows = readRows();

describe('the rows of conformance', () => {
  it('are complete: each id of each table stands once, in order', () => {
    const all = Object.entries(TABLES).flatMap(([letter, [, count]]) =>
      Array.from({ length: count }, (_, index) => `${letter}${index + 1}`),
    );
    expect(rows.flatMap((row) => idsOf(row))).toEqual(all);
  });

  it('have each a test, or what takes its place, or why nobody can see it', () => {
    const bare = rows.filter(
      ({ shownBy = [], instead = '', internal = '' }) =>
        shownBy.length === 0 && instead === '' && internal === '',
    );
    expect(bare).toEqual([]);
  });

  it('point to the rule, page or decision record where they say what Heddle does instead', () => {
    const vague = rows.filter(({ instead }) => instead !== undefined && !/\]\([^)]+\)/.test(linked(instead)));
    expect(vague).toEqual([]);
  });

  it('name tests that are there', () => {
    expect(missingTests(rows)).toEqual([]);
  });

  it('would be missed: files, titles and cases that are not there', () => {
    const names = [
      'test/conformance/nowhere.test.ts › has no such file',
      'test/conformance/rows/rows.test.ts › has no such title',
      'test/conformance/outcomes/outcomes.test.ts › r9999',
    ];
    const named = [...names, 'test/conformance/rows/rows.test.ts › name tests that are there'];
    expect(missingTests([{ id: 'D1', behaviour: '', shownBy: named }])).toEqual(names);
  });

  it('are what docs/conformance.md shows', async () => {
    await expect(conformancePage(rows)).toMatchFileSnapshot('../../../docs/conformance.md');
  });
});
