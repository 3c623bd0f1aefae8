import { createEngine } from '@heddle/engine';
import { openServiceStore } from '@heddle/service';
import { expect, it } from 'vitest';
import { SEARCH_BOUNDS } from '../../packages/service/src/logs/search.ts';
import { tenantIsolation, testApi } from '../support/api.ts';
import type { TestApi } from '../support/api.ts';
import type { RunResponse } from '../support/api-workflows.ts';
import { block, fn, workflow } from '../support/workflow.ts';

const ECHO = workflow([fn('Echo', 'return { said: `Hello ${<Start.name>}` }')], ['Start -> Echo'], {
  inputFormat: [{ name: 'name', type: 'string' }],
});
const HANDLED = workflow(
  [fn('Price', 'throw new Error("No price for the \\"blue\\" loom")'), fn('Default', 'return 1')],
  ['Start -> Price', 'Price:error -> Default'],
);
const PAUSING = workflow([block('Ask', 'human_in_the_loop')], ['Start -> Ask']);
const LARGE = workflow([fn('Grow', 'return "needle" + "x".repeat(1200000)')], ['Start -> Grow']);
const MEDIUM = workflow([fn('Grow', 'return "x".repeat(900000) + "needle"')], ['Start -> Grow']);

interface SearchResult {
  matches: {
    run: { runId: string; workflow: { name: string } };
    in: string;
    blockName: string | null;
    preview: string;
  }[];
  searchedRuns: number;
  skippedValues: number;
  nextCursor: string | null;
}

async function setUp(): Promise<TestApi> {
  const store = await openServiceStore();
  const engine = await createEngine(tenantIsolation(store));
  return testApi({ engine, store, every: () => () => undefined });
}

async function run(api: TestApi, workflowId: string, input: object = {}): Promise<string> {
  const path = `/api/v2/workflows/${workflowId}/execute`;
  return (await api.call<RunResponse>('POST', path, { body: { input } })).data.runId;
}

async function search(api: TestApi, query: object): Promise<SearchResult> {
  const parameters = new URLSearchParams({ workspaceId: api.workspaceId, ...query }).toString();
  return (await api.call<SearchResult>('GET', `/api/v2/logs/search?${parameters}`)).data;
}

it('a search finds runs by input, output and error, including handled errors, and ignores case', async () => {
  const api = await setUp();
  const echoId = await api.deploy(ECHO);
  const adaRunId = await run(api, echoId, { name: 'Ada "Countess" Lovelace' });
  const failedRunId = await run(api, await api.deploy(HANDLED));
  // İ has two characters in lower case, so positions in the lower-case text differ from those in the original.
  await run(api, echoId, { name: `${'İ'.repeat(300)} needle` });
  expect((await search(api, { text: 'needle', in: 'input' })).matches[0]?.preview).toContain('needle');
  await run(api, echoId, { name: 'Grace' });
  const byInput = await search(api, { text: 'ada "count', in: 'input' });
  expect(byInput.matches).toMatchObject([{ run: { runId: adaRunId }, in: 'input', blockName: null }]);
  expect(byInput).toMatchObject({ searchedRuns: 4, skippedValues: 0, nextCursor: null });
  expect((await search(api, { text: 'hello ada' })).matches).toMatchObject([
    { run: { runId: adaRunId }, in: 'output' },
  ]);
  const byError = await search(api, { text: 'PRICE FOR THE "BLUE' });
  expect(byError.matches).toMatchObject([{ run: { runId: failedRunId }, in: 'error', blockName: 'Price' }]);
  expect(byError.matches[0]?.preview).toContain('No price for the "blue" loom');
  expect((await search(api, { text: 'hello', in: 'error' })).matches).toEqual([]);
  const filtered = await search(api, { text: 'hello', workflowIds: echoId, status: 'failed' });
  expect(filtered).toMatchObject({ matches: [], searchedRuns: 0 });
});

it('a search never finds the token of an open pause point, and requires a key', async () => {
  const api = await setUp();
  const pausingId = await api.deploy(PAUSING);
  const runId = await run(api, pausingId);
  const { data } = await api.call<{ pauses: { contextId: string }[] }>(
    'GET',
    `/api/v2/logs/${runId}/overview`,
  );
  const token = data.pauses[0]?.contextId ?? '';
  expect(token.length).toBeGreaterThan(10);
  expect((await search(api, { text: token.slice(0, 200) })).matches).toEqual([]);
  const path = `/api/v2/logs/search?workspaceId=${api.workspaceId}&text=x`;
  expect((await api.call('GET', path, { key: null })).status).toBe(401);
});

it('a search reads a limited amount per request, counts skipped values, and continues at its cursor', async () => {
  const api = await setUp();
  const largeRunId = await run(api, await api.deploy(LARGE));
  expect(await search(api, { text: 'needle', in: 'output' })).toMatchObject({
    matches: [],
    skippedValues: 1,
  });
  const mediumId = await api.deploy(MEDIUM);
  const runCount = Math.ceil(SEARCH_BOUNDS.bytes / 900_000) + 2;
  for (let count = 0; count < runCount; count += 1) await run(api, mediumId);
  const first = await search(api, { text: 'needle', in: 'output' });
  expect(first.searchedRuns).toBeLessThan(runCount);
  expect(first.matches).toHaveLength(first.searchedRuns);
  const second = await search(api, { text: 'needle', in: 'output', cursor: first.nextCursor ?? '' });
  expect(first.searchedRuns + second.searchedRuns).toBe(runCount + 1);
  expect(second).toMatchObject({ skippedValues: 1, nextCursor: null });
  expect(second.matches.map((match) => match.run.runId)).not.toContain(largeRunId);
  const otherText = new URLSearchParams({
    workspaceId: api.workspaceId,
    text: 'other',
    cursor: first.nextCursor ?? '',
  });
  expect((await api.call('GET', `/api/v2/logs/search?${otherText.toString()}`)).status).toBe(400);
});
