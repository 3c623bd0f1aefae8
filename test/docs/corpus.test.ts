import { describe, expect, it } from 'vitest';
import { CORPUS, findMissingTests } from '../attacks/corpus.ts';

describe('the corpus of attacks', () => {
  it('names existing tests for each of its cases', () => {
    expect(CORPUS.flatMap(findMissingTests)).toEqual([]);
  });

  it('has each case once', () => {
    const ids = CORPUS.map(({ id }) => id);
    expect(ids.filter((id, index) => ids.indexOf(id) !== index)).toEqual([]);
    expect(ids.length).toBeGreaterThan(190);
  });

  it('reports a case without a test, and a missing test', () => {
    const file = 'test/attacks/proxy.test.ts';
    const title = 'forwards nothing to an internal server: %s';
    const findFaults = (...by: (typeof CORPUS)[number]['by']): string[] =>
      findMissingTests({ id: 'Z', tries: 'all', by });
    expect(findFaults()).toEqual(['Z (all) has no test']);
    expect(findFaults('H01', 'H00')).toEqual(['Z: there is no attack H00']);
    expect(findFaults({ file, title: 'lets somebody in' })).toEqual([
      `Z: ${file} has no test "lets somebody in"`,
    ]);
    expect(findFaults({ file, title, row: 'nothing at all' })).toHaveLength(1);
    expect(findFaults({ file, title, row: 'a request to the internal server' })).toEqual([]);
    // A string in the file that is not the title of a test.
    expect(findFaults({ file, title: 'a request to the internal server' })).toHaveLength(1);
  });
});
