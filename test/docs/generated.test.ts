import { globSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readText } from '../repo/sources.ts';
import { updateGeneratedParts, GENERATED_PAGES, INTEGRATION_PAGES } from './generated.ts';
import { codeIn, readPage, repository, tablesOf } from './markdown.ts';

const page = readPage('docs/limits.md');
const constants = tablesOf('docs/limits.md', page)
  .filter(({ name }) => name === 'limits')
  .flatMap(({ rows }) => rows.map(({ cells }) => codeIn(cells.at(-1) ?? '') ?? ''));

/** Matches the names of constants that set a bound. */
const BOUND_DECLARATION = /^(?:export )?const ((?:MAX|LARGEST|LONGEST|DEEPEST|HIGHEST)(?:_[A-Z_]+)?)\b/gm;

/** Internal bounds that do not concern users: attempts, polls, lines of a message, sizes of chunks. `package#NAME`. */
const INTERNAL_BOUNDS = new Set([
  'api#MAX_ATTEMPTS',
  'api#MAX_STATUS',
  'core#MAX_DISTANCE',
  'core#MAX_LINE_CHARS',
  'core#MAX_LISTED_OUTPUTS',
  'core#MAX_NAME_CHARS',
  'core#MAX_ROWS',
  'core#MAX_STEPS',
  'core#MAX_TEXT_CHARS',
  'engine#MAX_ATTEMPTS',
  'engine#MAX_CODE_UNIT_BYTES',
  'engine#MAX_DATE_MS',
  'engine#MAX_DELAY_MS',
  'engine#MAX_ENTRIES',
  'engine#MAX_IDLE_RUNS_IN_MEMORY',
  'engine#MAX_NOTIFIED_CHARS',
  'engine#MAX_ORIGINS',
  'engine#MAX_PLACE_CHARS',
  'engine#MAX_REPLICAS',
  'engine#MAX_REPLICAS_PER_RUN',
  'engine#MAX_SCALAR_BYTES',
  'images#MAX_BATCH_BYTES',
  'images#MAX_BLOCKED_RELEASES',
  'images#MAX_BYTES',
  'images#MAX_COMPILERS',
  'images#MAX_CPU_SECONDS',
  'images#MAX_DATA_MIB',
  'images#MAX_DISK_MIB',
  'images#MAX_ENTRIES',
  'images#MAX_FILES',
  'images#MAX_FILE_MIB',
  'images#MAX_JOB_MS',
  'images#MAX_LOCKFILE_BYTES',
  'images#MAX_LOGGED_MODULES',
  'images#MAX_MEMORY_MIB',
  'images#MAX_METADATA_BYTES',
  'images#MAX_OPEN_FILES',
  'images#MAX_OUTPUT_BYTES',
  'images#MAX_OUTPUT_CHARS',
  'images#MAX_PAGE_BYTES',
  'images#MAX_PLATFORMS',
  'images#MAX_PROCESSES',
  'images#MAX_READS',
  'images#MAX_REDIRECTS',
  'images#MAX_REQUESTS',
  'images#MAX_RESPONSE_BYTES',
  'images#MAX_RESULT_BYTES',
  'images#MAX_SCRIPT_MS',
  'images#MAX_SENTENCES',
  'images#MAX_SHOWN_CHARS',
  'images#MAX_SNAPSHOT_BYTES',
  'images#MAX_STEPS',
  'images#MAX_TAIL_CHARS',
  'images#MAX_THREADS',
  'sandbox#HIGHEST_UID',
  'sandbox#MAX_AGENTS',
  'sandbox#MAX_ATTEMPTS',
  'sandbox#MAX_BYTES',
  'sandbox#MAX_CALL_BYTES',
  'sandbox#MAX_CHARS',
  'sandbox#MAX_COLD_START_BALANCE',
  'sandbox#MAX_DELAY_MS',
  'sandbox#MAX_FAILED_STARTS',
  'sandbox#MAX_FIELD_BYTES',
  'sandbox#MAX_IDLE_ISOLATES',
  'sandbox#MAX_IMAGES',
  'sandbox#MAX_INFORMATIONAL_RESPONSES',
  'sandbox#MAX_LEVELS',
  'sandbox#MAX_POOLED_BYTES',
  'sandbox#MAX_PROPERTIES',
  'sandbox#MAX_RANDOM_BYTES',
  'sandbox#MAX_REALMS',
  'sandbox#MAX_WASM_MIB',
  'temporal#MAX_CARRIED_CHARACTERS',
  'temporal#MAX_DELAY_MS',
  'temporal#MAX_DURATION',
  'temporal#MAX_HISTORY_BYTES',
  'temporal#MAX_OUTPUT_LENGTH',
  'temporal#MAX_STARTS',
]);

const sources = globSync('packages/{api,core,engine,images,sandbox,temporal}/src/**/*.ts', {
  cwd: repository,
})
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => !file.endsWith('.test.ts'));
const bounds = sources.flatMap((file) =>
  [...readText(file).matchAll(BOUND_DECLARATION)].map(
    ([, name]) => `${file.slice('packages/'.length)}#${name}`,
  ),
);

describe('the generated parts of the documentation', () => {
  it.each(GENERATED_PAGES)('match the sources: %s', async (file) => {
    await expect(updateGeneratedParts(readPage(file))).toMatchFileSnapshot(join(repository, file));
  });

  it('are checked for missing and stale values, and unknown names', () => {
    const row =
      '| a body | 7 | an option | a code | `api/src/admission/input-limits.ts#AUTHENTICATED_LIMITS.bytes` |';
    const table = `<!-- limits -->\n\n| limit | value |\n|---|---|\n${row}\n`;
    expect(updateGeneratedParts(table)).toContain('| a body | 10,485,760 | an option | a code |');
    expect(() => updateGeneratedParts(table.replace('AUTHENTICATED', 'NO'))).toThrow('There is no number at');
    expect(() => updateGeneratedParts('<!-- generated: nothing -->\n')).toThrow('Nothing generates');
    expect(updateGeneratedParts('<!-- generated: statuses -->\n\n| old |\n\nAfter.\n')).toMatch(
      /\| 503 \|.*\|\n\nAfter/,
    );
  });
});

describe('docs/limits.md', () => {
  it('has every bound of the sources that concerns users', () => {
    expect(bounds.length).toBeGreaterThan(60);
    const isListed = (bound: string): boolean =>
      constants.some((constant) => constant === bound || constant.startsWith(`${bound}.`));
    const shortName = (bound: string): string => bound.replace(/\/.*#/, '#');
    // Add a new bound to a table of the page, or to the list above if it does not concern users.
    expect(bounds.filter((bound) => !isListed(bound) && !INTERNAL_BOUNDS.has(shortName(bound)))).toEqual([]);
    expect([...INTERNAL_BOUNDS].filter((name) => !bounds.some((bound) => shortName(bound) === name))).toEqual(
      [],
    );
  });

  it('refers only to existing codes', () => {
    const errors = readPage('docs/errors.md');
    const codeLinks = [...page.matchAll(/\[([A-Z_]+)\]\(errors\.md#(\w+)\)/g)];
    expect(codeLinks.length).toBeGreaterThan(50);
    const brokenLinks = codeLinks.filter(
      ([, code = '', anchor]) => anchor !== code.toLowerCase() || !errors.includes(`\n### ${code}\n`),
    );
    expect(brokenLinks.map(([link]) => link)).toEqual([]);
  });
});

describe('the page of each integration', () => {
  it.each([...INTEGRATION_PAGES])('matches the definition: %s', async (path, text) => {
    await expect(text).toMatchFileSnapshot(join(repository, path));
  });

  it('exists only for integrations', () => {
    const pages = globSync('docs/integrations/*.md', { cwd: repository });
    expect(pages.map((page) => page.replaceAll('\\', '/')).sort()).toEqual(
      [...INTEGRATION_PAGES.keys()].sort(),
    );
  });
});
