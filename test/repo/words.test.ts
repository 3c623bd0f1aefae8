import { describe, expect, it } from 'vitest';
import { declaredNames, formsOf, readList, readSources, unknownWords, wordsIn, wordsOf } from './words.ts';
import { parseSync } from 'oxc-parser';

describe('every word', () => {
  const sources = readSources();
  const words = wordsOf(sources);

  it('of a name, comment, message or page is used by two other publishers of packages, or is a listed term', () => {
    expect(sources.length).toBeGreaterThan(2000);
    expect(words.names.size).toBeGreaterThan(2000);
    expect(words.prose.size).toBeGreaterThan(4000);
    expect(unknownWords('names', words.names)).toEqual([]);
    expect(unknownWords('prose', words.prose)).toEqual([]);
  });

  it('of the listed terms is still used, and is listed once', () => {
    const terms = readList('terms');
    expect(terms).toEqual([...new Set(terms)]);
    expect(terms.filter((term) => !words.names.has(term) && !words.prose.has(term))).toEqual([]);
  });
});

describe('the words', () => {
  const moduleText = [
    '// Parks the crew.',
    'export function stowCrew({ galley: pantry, ...rest }, [mast] = hull) {',
    "  if (mast.foremast) throw new Error('The bilge is full of seawater today.');",
    '  const keel = `The ${mast} snapped in the last heavy squall`;',
    '}',
    'interface Ship { readonly rudder: number; anchor(): void }',
  ].join('\n');

  it('of names are those of declarations, not of uses', () => {
    const { program } = parseSync('x.ts', moduleText);
    expect([...declaredNames(program)].sort()).toEqual(
      ['Ship', 'anchor', 'keel', 'mast', 'pantry', 'rest', 'rudder', 'stowCrew'].sort(),
    );
  });

  it('of prose are those of comments and messages, and of titles in tests', () => {
    const sourceWords = wordsOf([{ file: 'packages/a/src/x.ts', text: moduleText }]);
    expect(sourceWords.names.get('stow')).toBe('packages/a/src/x.ts');
    expect([...sourceWords.prose.keys()]).toEqual(
      expect.arrayContaining(['parks', 'crew', 'bilge', 'full', 'seawater', 'snapped', 'squall']),
    );
    const testWords = wordsOf([
      { file: 'test/x.test.ts', text: "it.each([1])('sails to port', () => { f('a hawser') })" },
    ]);
    expect([...testWords.prose.keys()]).toEqual(['sails', 'port']);
    expect(testWords.names.size).toBe(0);
  });

  it('of pages are those outside code and URLs', () => {
    const text = '# Sails\n\nSee [the mast](mizzen.md) and `keel`.\n\n```bash\nbilge --pump\n```\n';
    expect([...wordsOf([{ file: 'docs/a.md', text }]).prose.keys()]).toEqual(['sails', 'mast']);
  });

  it('have at least four letters, and are separated by capitals', () => {
    expect(wordsIn('readStoredRun MAX_RUNS_PER_KEY HTTPServer a run')).toEqual([
      ...['read', 'stored', 'runs', 'http', 'server'],
    ]);
  });

  it('are the same with another ending', () => {
    expect(formsOf('stored')).toContain('store');
    expect(formsOf('retries')).toContain('retry');
    expect(formsOf('log')).toContain('logs');
  });

  it('that are unknown are reported with a file', () => {
    expect(
      unknownWords(
        'names',
        new Map([
          ['stow', 'a.ts'],
          ['store', 'b.ts'],
        ]),
      ),
    ).toEqual(['stow (a.ts)']);
  });
});
