import { createEngine } from '@heddle/engine';
import { openServiceStore } from '@heddle/service';
import { expect, it } from 'vitest';
import { SEARCH_LIMITS } from '../../packages/service/src/logs/search.ts';
import { tenantOptionsOf, createTestApi } from '../support/api.ts';
import type { TestApi } from '../support/api.ts';
import type { RunResponse } from '../support/api-workflows.ts';
import { block, fn, workflow } from '../support/workflow.ts';

const ECHO_WORKFLOW = workflow([fn('Echo', 'return { said: `Hello ${<Start.name>}` }')], ['Start -> Echo'], {
  inputFormat: [{ name: 'name', type: 'string' }],
});
const HANDLED_ERROR_WORKFLOW = workflow(
  [fn('Price', 'throw new Error("No price for the \\"blue\\" loom")'), fn('Default', 'return 1')],
  ['Start -> Price', 'Price:error -> Default'],
);
const PAUSING_WORKFLOW = workflow([block('Ask', 'human_in_the_loop')], ['Start -> Ask']);
const LARGE_OUTPUT_WORKFLOW = workflow(
  [fn('Grow', 'return "needle" + "x".repeat(1200000)')],
  ['Start -> Grow'],
);
const MEDIUM_OUTPUT_WORKFLOW = workflow(
  [fn('Grow', 'return "x".repeat(900000) + "needle"')],
  ['Start -> Grow'],
);

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
  const engine = await createEngine(tenantOptionsOf(store));
  return createTestApi({ engine, store, repeat: () => () => undefined });
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
  const echoId = await api.deploy(ECHO_WORKFLOW);
  const adaRunId = await run(api, echoId, { name: 'Ada "Countess" Lovelace' });
  const failedRunId = await run(api, await api.deploy(HANDLED_ERROR_WORKFLOW));
  // İ has two characters in lower case, so positions in the lower-case text differ from those in the original.
  await run(api, echoId, { name: `${'İ'.repeat(300)} needle` });
  expect((await search(api, { text: 'needle', in: 'input' })).matches[0]?.preview).toContain('needle');
  await run(api, echoId, { name: 'Grace' });
  const inputResult = await search(api, { text: 'ada "count', in: 'input' });
  expect(inputResult.matches).toMatchObject([{ run: { runId: adaRunId }, in: 'input', blockName: null }]);
  expect(inputResult).toMatchObject({ searchedRuns: 4, skippedValues: 0, nextCursor: null });
  expect((await search(api, { text: 'hello ada' })).matches).toMatchObject([
    { run: { runId: adaRunId }, in: 'output' },
  ]);
  const errorResult = await search(api, { text: 'PRICE FOR THE "BLUE' });
  expect(errorResult.matches).toMatchObject([
    { run: { runId: failedRunId }, in: 'error', blockName: 'Price' },
  ]);
  expect(errorResult.matches[0]?.preview).toContain('No price for the "blue" loom');
  expect((await search(api, { text: 'hello', in: 'error' })).matches).toEqual([]);
  const filteredResult = await search(api, { text: 'hello', workflowIds: echoId, status: 'failed' });
  expect(filteredResult).toMatchObject({ matches: [], searchedRuns: 0 });
});

it('a search never finds the token of an open pause point, and requires a key', async () => {
  const api = await setUp();
  const pausingId = await api.deploy(PAUSING_WORKFLOW);
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
  const largeRunId = await run(api, await api.deploy(LARGE_OUTPUT_WORKFLOW));
  expect(await search(api, { text: 'needle', in: 'output' })).toMatchObject({
    matches: [],
    skippedValues: 1,
  });
  const mediumId = await api.deploy(MEDIUM_OUTPUT_WORKFLOW);
  const runCount = Math.ceil(SEARCH_LIMITS.bytes / 900_000) + 2;
  for (let count = 0; count < runCount; count += 1) await run(api, mediumId);
  const firstResult = await search(api, { text: 'needle', in: 'output' });
  expect(firstResult.searchedRuns).toBeLessThan(runCount);
  expect(firstResult.matches).toHaveLength(firstResult.searchedRuns);
  const secondResult = await search(api, {
    text: 'needle',
    in: 'output',
    cursor: firstResult.nextCursor ?? '',
  });
  expect(firstResult.searchedRuns + secondResult.searchedRuns).toBe(runCount + 1);
  expect(secondResult).toMatchObject({ skippedValues: 1, nextCursor: null });
  expect(secondResult.matches.map((match) => match.run.runId)).not.toContain(largeRunId);
  const otherTextParameters = new URLSearchParams({
    workspaceId: api.workspaceId,
    text: 'other',
    cursor: firstResult.nextCursor ?? '',
  });
  expect((await api.call('GET', `/api/v2/logs/search?${otherTextParameters.toString()}`)).status).toBe(400);
});
