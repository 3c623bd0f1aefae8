import { describe, expect, it } from 'vitest';
import { TABLES, formatConformancePage, idsOf, addLinks, findMissingTests, readRows } from './rows.ts';

const rows = readRows();

describe('rows of the conformance tables', () => {
  it('have each id of each table once, in order', () => {
    const expectedIds = Object.entries(TABLES).flatMap(([letter, [, count]]) =>
      Array.from({ length: count }, (_, index) => `${letter}${index + 1}`),
    );
    expect(rows.flatMap((row) => idsOf(row))).toEqual(expectedIds);
  });

  it('have a test, another behaviour of Heddle, or a reason why they are not visible', () => {
    const unexplainedRows = rows.filter(
      ({ shownBy = [], instead = '', internal = '' }) =>
        shownBy.length === 0 && instead === '' && internal === '',
    );
    expect(unexplainedRows).toEqual([]);
  });

  it('link to a rule, page or decision record if Heddle behaves differently', () => {
    const unlinkedRows = rows.filter(
      ({ instead }) => instead !== undefined && !/\]\([^)]+\)/.test(addLinks(instead)),
    );
    expect(unlinkedRows).toEqual([]);
  });

  it('name existing tests', () => {
    expect(findMissingTests(rows)).toEqual([]);
  });

  it('are refused if they name a missing file, title or case', () => {
    const names = [
      'test/conformance/nowhere.test.ts › has no such file',
      'test/conformance/rows/rows.test.ts › has no such title',
      'test/conformance/outcomes/outcomes.test.ts › r9999',
    ];
    const shownBy = [...names, 'test/conformance/rows/rows.test.ts › name existing tests'];
    expect(findMissingTests([{ id: 'D1', behaviour: '', shownBy }])).toEqual(names);
  });

  it('match docs/conformance.md', async () => {
    await expect(formatConformancePage(rows)).toMatchFileSnapshot('../../../docs/conformance.md');
  });
});
