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
    const findProblems = (...tests: (typeof CORPUS)[number]['tests']): string[] =>
      findMissingTests({ id: 'Z', attack: 'all', tests });
    expect(findProblems()).toEqual(['Z (all) has no test']);
    expect(findProblems('H01', 'H00')).toEqual(['Z: there is no attack H00']);
    expect(findProblems({ file, title: 'lets somebody in' })).toEqual([
      `Z: ${file} has no test "lets somebody in"`,
    ]);
    expect(findProblems({ file, title, row: 'nothing at all' })).toHaveLength(1);
    expect(findProblems({ file, title, row: 'a request to the internal server' })).toEqual([]);
    // A string in the file that is not the title of a test.
    expect(findProblems({ file, title: 'a request to the internal server' })).toHaveLength(1);
  });
});
