import { globSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readText } from '../house/sources.ts';
import { generated, GENERATED } from './generated.ts';
import { codeIn, readPage, repository, tablesOf } from './markdown.ts';

const page = readPage('docs/limits.md');
const constants = tablesOf('docs/limits.md', page)
  .filter(({ name }) => name === 'limits')
  .flatMap(({ rows }) => rows.map(({ cells }) => codeIn(cells.at(-1) ?? '') ?? ''));

/** Names of constants that set a bound. */
const BOUND = /^(?:export )?const ((?:MOST|MAX|LARGEST|LONGEST|DEEPEST|HIGHEST)(?:_[A-Z_]+)?)\b/gm;

/** Bounds on how something is done, which nobody meets: tries, looks, lines of a message, sizes of parts. */
const INNER = new Set([
  'api/src/areas/legacy/views.ts#HIGHEST_STATUS',
  'api/src/areas/runs/claim.ts#MOST_CLAIMS',
  'api/src/areas/workflows/store.ts#MOST_TRIES',
  'core/src/plan/checks/never-ran.ts#MOST_STEPS',
  'core/src/refs/nearest.ts#MAX_DISTANCE',
  'engine/src/clock.ts#LONGEST_DELAY_MS',
  'engine/src/segment/segment.ts#MOST_ENTRIES',
  'engine/src/store/postgres/database.ts#MOST_RUNS',
  'sandbox/src/child/bridge.ts#MAX_RANDOM_BYTES',
  'sandbox/src/child/isolates.ts#MAX_IDLE_ISOLATES',
  'sandbox/src/child/isolates.ts#MAX_REALMS',
  'sandbox/src/child/python-image.ts#MOST_PASSES',
  'sandbox/src/egress/transport.ts#MAX_AGENTS',
  'sandbox/src/guest/native/javascript.ts#MOST_CHARS',
  'sandbox/src/guest/python/chance.ts#MOST_FROM_POOL',
  'sandbox/src/images/javascript/boot.ts#MOST_KEPT',
  'sandbox/src/images/javascript/subpaths.ts#MOST_SUBPATHS',
  'sandbox/src/images/native/debian/closure.ts#MOST_STEPS',
  'sandbox/src/images/python/build/memory.ts#MOST_BYTES',
  'sandbox/src/images/python/build/memory.ts#MOST_LOGGED',
  'sandbox/src/images/python/solve/explanation.ts#MOST_SENTENCES',
  'sandbox/src/images/python/solve/explanation.ts#MOST_TAGS',
  'sandbox/src/images/python/solve/requirements.ts#MOST_BLOCKED',
  'sandbox/src/images/python/solve/resolution.ts#MAX_READS',
  'sandbox/src/images/python/sources/simple-index.ts#MOST_PAGE_BYTES',
  'sandbox/src/images/python/wheels/remote-metadata.ts#MOST_METADATA_BYTES',
  'sandbox/src/images/python/wheels/stored-zip.ts#MOST_BYTES',
  'sandbox/src/images/python/wheels/stored-zip.ts#MOST_ENTRIES',
  'sandbox/src/images/python/wheels/wheel-metadata.ts#MOST_BYTES',
  'sandbox/src/isolation/options.ts#HIGHEST_UID',
  'sandbox/src/pool/channel.ts#MOST_BYTES',
  'sandbox/src/pool/pool.ts#MAX_FAILED_STARTS',
  'sandbox/src/pool/questions.ts#MOST_BYTES',
  'temporal/src/client/rests.ts#MOST_MS',
  'temporal/src/workflow/activities.ts#LONGEST',
  'temporal/src/workflow/driver.ts#MOST_TOLD',
]);

const sources = globSync('packages/{api,core,engine,sandbox,temporal}/src/**/*.ts', { cwd: repository })
  .map((file) => file.replaceAll('\\', '/'))
  .filter((file) => !file.endsWith('.test.ts'));
const bounds = sources.flatMap((file) =>
  [...readText(file).matchAll(BOUND)].map(([, name]) => `${file.slice('packages/'.length)}#${name}`),
);

describe('what is generated of the documentation', () => {
  it.each(GENERATED)('is what the sources say, %s', async (file) => {
    await expect(generated(readPage(file))).toMatchFileSnapshot(join(repository, file));
  });

  it('is seen where it is missing, stale or of nothing', () => {
    const row = '| a body | 7 | an option | a code | `api/src/http/parse.ts#MAX_BODY_BYTES` |';
    const table = `<!-- limits -->\n\n| what | value |\n|---|---|\n${row}\n`;
    expect(generated(table)).toContain('| a body | 10,485,760 | an option | a code |');
    expect(() => generated(table.replace('MAX_BODY', 'NO_BODY'))).toThrow('There is no number at');
    expect(() => generated('<!-- generated: nothing -->\n')).toThrow('Nothing generates');
    expect(generated('<!-- generated: statuses -->\n\n| old |\n\nAfter.\n')).toMatch(
      /\| 503 \|.*\|\n\nAfter/,
    );
  });
});

describe('docs/limits.md', () => {
  it('has every bound that the sources have, or it is one that nobody meets', () => {
    expect(bounds.length).toBeGreaterThan(60);
    const named = (place: string): boolean =>
      constants.some((constant) => constant === place || constant.startsWith(`${place}.`));
    expect(bounds.filter((place) => !named(place) && !INNER.has(place))).toEqual([]);
    expect([...INNER].filter((place) => named(place) || !bounds.includes(place))).toEqual([]);
  });

  it('leads to codes that there are', () => {
    const errors = readPage('docs/errors.md');
    const codes = [...page.matchAll(/\[([A-Z_]+)\]\(errors\.md#(\w+)\)/g)];
    expect(codes.length).toBeGreaterThan(50);
    const wrong = codes.filter(
      ([, code = '', anchor]) => anchor !== code.toLowerCase() || !errors.includes(`\n### ${code}\n`),
    );
    expect(wrong.map(([link]) => link)).toEqual([]);
  });
});
