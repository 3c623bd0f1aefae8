import type { BlockExecutor, Json } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { findLog, listLogs, logDetailOf, logStatsOf } from '../../packages/service/src/logs/logs.ts';
import { TraceCache } from '../../packages/service/src/logs/inspect/trace-cache.ts';
import type { LogServices } from '../../packages/service/src/logs/logs.ts';
import {
  logDetail,
  logEntry,
  logsQuery,
  logStats,
  statsQuery,
} from '../../packages/service/src/logs/schemas.ts';
import { createPostgresDatabase, storesToTest } from '../support/postgres.ts';
import { block, fn, loop, workflow } from '../support/workflow.ts';
import { deploy, openIndexedEngine } from './setup.ts';
import type { IndexedEngine } from './setup.ts';

const output = { content: 'hi', model: 'm-1', cost: { total: 0.25, toolCost: 0.05 }, tokens: { input: 3 } };
const AGENT_EXECUTOR: BlockExecutor = { types: ['agent'], class: 'compute', execute: () => ({ output }) };
const BULK_EXECUTOR: BlockExecutor = {
  types: ['bulk'],
  class: 'compute',
  execute: () => ({ output: { text: 'x'.repeat(5_000_000) } }),
};
const CHAIN_WORKFLOW = workflow(
  [block('Agent', 'agent', { prompt: 'Say <Start.word> {{NAME}}' }), fn('End', 'return <Start.word>')],
  ['Start -> Agent -> End'],
  { id: 'chain', name: 'Chain', inputFormat: [{ name: 'word', type: 'string' }] },
);
const LOOP_WORKFLOW = workflow(
  [loop('Each', { loopType: 'for', count: 2 }, fn('In', 'return <loop.index>'))],
  ['Start -> Each', 'Each -> In'],
  { id: 'loop', name: 'Loop' },
);
const PAUSING_WORKFLOW = workflow([block('Ask', 'human_in_the_loop', {})], ['Start -> Ask'], { id: 'asks' });
const FAILING_WORKFLOW = workflow([fn('A', 'throw new Error("no")')], ['Start -> A'], { id: 'fails' });

interface Setup extends IndexedEngine {
  services: LogServices;
}

async function setUp(url?: string): Promise<Setup> {
  const indexedEngine = await openIndexedEngine({
    url,
    engine: { blocks: [AGENT_EXECUTOR, BULK_EXECUTOR], env: { NAME: 'Ada Lovelace' } },
  });
  const { db, engine, indexer } = indexedEngine;
  return {
    ...indexedEngine,
    services: {
      db,
      engine,
      indexer,
      now: () => Date.now(),
      redactCredentials: (graph) => graph,
      traces: new TraceCache(engine, () => Date.now()),
      access: { check: () => Promise.resolve('granted') },
      onError: (error) => indexedEngine.errors.push(error),
    },
  };
}

const list = (services: LogServices, query: object = {}) =>
  listLogs(services, logsQuery.parse({ workspaceId: 'looms', ...query }), undefined);

async function readDetail(services: LogServices, runId: string) {
  const row = await findLog(services, runId, ['looms']);
  if (!row) throw new Error(`no log of ${runId}`);
  const response = await logDetailOf(services, row);
  // Responses must match the documented schema.
  return logDetail.parse(response) as Exclude<typeof response, undefined>;
}

const STORE_NAMES = storesToTest('the log of runs');

describe.each(STORE_NAMES)('the log of runs on %s', (name) => {
  const open = async (): Promise<Setup> =>
    setUp(name === 'postgres' ? await createPostgresDatabase() : undefined);

  it('lists a run as soon as it has ended, in the basic form', async () => {
    const setup = await open();
    const { services, engine } = setup;
    const id = await deploy(setup, CHAIN_WORKFLOW);
    await engine.execute(id, { word: 'x' }, { runId: 'r' });
    const { entries, next } = await list(services);
    expect(next).toBeUndefined();
    expect(entries.map((entry) => logEntry.parse(entry))).toEqual([
      {
        kind: 'workflow',
        runId: 'r',
        workflowId: 'chain',
        deploymentVersionId: null,
        status: 'completed',
        level: 'info',
        trigger: 'api',
        startedAt: expect.any(String),
        endedAt: expect.any(String),
        totalDurationMs: expect.any(Number),
        cost: { total: 0.25, totalMicros: 250_000 },
        files: null,
      },
    ]);
  });

  it('adds the workflow, the output and the spans on request', async () => {
    const setup = await open();
    const { services, engine } = setup;
    const id = await deploy(setup, CHAIN_WORKFLOW);
    await engine.execute(id, { word: 'x' }, { runId: 'r' });
    const [fullEntry] = (await list(services, { details: 'full' })).entries;
    expect(fullEntry?.workflow).toEqual({ id: 'chain', name: 'chain', description: null, deleted: false });
    expect(fullEntry).not.toHaveProperty('traceSpans');
    const [entry] = (await list(services, { includeTraceSpans: true, includeFinalOutput: true })).entries;
    expect(entry).toMatchObject({ workflow: { id: 'chain' }, finalOutput: { result: 'x' }, files: [] });
    expect(entry?.traceSpans?.map((span) => span.name)).toEqual(['Start', 'Agent', 'End']);
  });

  it('shows the spans, cost, input, output and graph of a run', async () => {
    const setup = await open();
    const { services, engine } = setup;
    await engine.execute(
      await deploy(setup, CHAIN_WORKFLOW),
      { word: 'x' },
      { runId: 'engine-id', callerId: 'r' },
    );
    const detail = await readDetail(services, 'r');
    expect(detail).toMatchObject({
      runId: 'r',
      workflow: { name: 'chain', folderPath: '/', workspaceId: 'looms', deleted: false },
      workflowInput: { word: 'x' },
      finalOutput: { result: 'x' },
      cost: {
        total: 0.25,
        items: [
          { category: 'model', description: 'm-1', cost: 0.2, inputTokens: 3 },
          { category: 'tool', description: 'Agent', cost: 0.05 },
        ],
      },
    });
    expect(detail.traceSpans[1]).toMatchObject({
      id: 'Agent',
      blockId: 'Agent',
      cost: { total: 0.25, totalMicros: 250_000 },
    });
    expect(detail.workflowState).toMatchObject({
      blocks: { Agent: { type: 'agent', subBlocks: { prompt: { value: 'Say <Start.word> {{NAME}}' } } } },
      edges: [
        { source: 'Start', target: 'Agent' },
        { source: 'Agent', target: 'End' },
      ],
    });
    expect(JSON.stringify(detail)).not.toContain('engine-id');
    expect(JSON.stringify(detail.workflowState)).not.toContain('Lovelace');
  });

  it('nests the spans of containers, and includes containers in the graph', async () => {
    const setup = await open();
    const { services, engine } = setup;
    await engine.execute(await deploy(setup, LOOP_WORKFLOW), {}, { runId: 'r' });
    const { traceSpans, workflowState } = await readDetail(services, 'r');
    const eachSpan = traceSpans.find((span) => span.name === 'Each');
    expect(eachSpan?.children?.map(({ id, type }) => [id, type])).toEqual([
      ['Each/0', 'iteration'],
      ['Each/1', 'iteration'],
    ]);
    expect(eachSpan?.children?.[1]?.children?.[0]).toMatchObject({ id: 'Each/1/In', output: { result: 1 } });
    expect(workflowState).toMatchObject({
      blocks: { In: { data: { parentId: 'Each' } } },
      loops: { Each: { nodes: ['In'], loopType: 'for', iterations: 2 } },
    });
  });

  it('shows why a run failed, and does not show the token of a pause', async () => {
    const setup = await open();
    const { services, engine } = setup;
    await engine.execute(await deploy(setup, FAILING_WORKFLOW), {}, { runId: 'f' });
    await engine.execute(await deploy(setup, PAUSING_WORKFLOW), {}, { runId: 'p' });
    const failedDetail = await readDetail(services, 'f');
    expect(failedDetail).toMatchObject({ level: 'error', status: 'failed', finalOutput: null });
    expect(failedDetail.traceSpans.at(-1)).toMatchObject({
      status: 'failed',
      errorMessage: expect.stringMatching(/no/),
    });
    const { pauses } = await engine.getRun('p');
    const pausedDetail = await readDetail(services, 'p');
    expect(pausedDetail).toMatchObject({ status: 'pending', endedAt: null, totalDurationMs: null });
    expect(JSON.stringify(pausedDetail)).not.toContain(pauses[0]?.token);
  });

  it('finds no run of another workspace, and no run if several runs have the id', async () => {
    const setup = await open();
    const { services, engine } = setup;
    await engine.execute(await deploy(setup, FAILING_WORKFLOW), {}, { runId: 'f' });
    expect(await findLog(services, 'f', ['other'])).toBeUndefined();
    expect(await findLog(services, 'f', [])).toBeUndefined();
    await engine.execute('fails', {}, { runId: 'g', callerId: 'f' });
    expect(await findLog(services, 'f', ['looms', 'other'])).toBeUndefined();
  });

  it('counts runs in statistics', async () => {
    const setup = await open();
    const { services, engine } = setup;
    await engine.execute(await deploy(setup, FAILING_WORKFLOW), {}, {});
    await engine.execute(await deploy(setup, CHAIN_WORKFLOW), { word: 'x' }, {});
    const stats = await logStatsOf(
      services,
      statsQuery.parse({ workspaceId: 'looms', segmentCount: 3, percentiles: true }),
    );
    expect(logStats.parse(stats)).toMatchObject({ totalRuns: 2, totalErrors: 1, workflowsTruncated: false });
    const { entries } = await list(services, { sortBy: 'durationMs', sortOrder: 'asc' });
    const durations = entries.map(({ totalDurationMs }) => totalDurationMs);
    expect(stats).toMatchObject({ p50Latency: durations[0], p99Latency: durations[1] });
    expect(stats.totalCost).toBeCloseTo(entries.reduce((sum, { cost }) => sum + (cost?.total ?? 0), 0));
    expect(stats.workflows).toMatchObject([
      { workflowId: 'chain', totalSuccessful: 1, overallSuccessRate: 100 },
      { workflowId: 'fails', totalSuccessful: 0, overallSuccessRate: 0 },
    ]);
    expect(stats.aggregateSegments.reduce((sum, { totalExecutions }) => sum + totalExecutions, 0)).toBe(2);
    const emptyStats = await logStatsOf(services, statsQuery.parse({ workspaceId: 'nowhere' }));
    expect(emptyStats).toMatchObject({ totalRuns: 0, workflows: [] });
  });
});

describe('the log of runs', () => {
  const invalidFilters: [object, RegExp][] = [
    [{ startDate: '2026-01-02T00:00:00Z', endDate: '2026-01-01T00:00:00Z' }, /startDate/],
    [{ minDurationMs: 5, maxDurationMs: 4 }, /minDurationMs/],
    [{ minCost: 5, maxCost: 4 }, /minCost/],
    [{ status: 'completed,queued' }, /status cannot be "queued"/],
    [{ includeJobRuns: true, sortBy: 'cost' }, /includeJobRuns/],
    [{ workflowIds: Array.from({ length: 201 }, (_, index) => index).join(',') }, /200/],
  ];

  it.each(invalidFilters)('refuses the filters %o', async (query, message) => {
    const { services } = await setUp();
    await expect(list(services, query)).rejects.toMatchObject({
      status: 400,
      message: expect.stringMatching(message),
    });
  });

  it('refuses a cursor whose value is invalid for the sort field', async () => {
    const { services } = await setUp();
    const query = logsQuery.parse({ workspaceId: 'looms' });
    for (const value of ['1', 1.5, 1e300])
      await expect(listLogs(services, query, [value, 'r'])).rejects.toMatchObject({ status: 400 });
    const statusQuery = logsQuery.parse({ workspaceId: 'looms', sortBy: 'status' });
    await expect(listLogs(services, statusQuery, [1, 'r'])).rejects.toMatchObject({ status: 400 });
  });

  it('clamps the limit, and accepts the trigger "all" and folder paths without a leading slash', async () => {
    const setup = await setUp();
    const { services, engine } = setup;
    await engine.execute(await deploy(setup, FAILING_WORKFLOW), {}, { runId: 'a' });
    await engine.execute('fails', {}, { runId: 'b' });
    expect((await list(services, { limit: 0 })).entries).toHaveLength(1);
    expect((await list(services, { limit: 5000 })).entries).toHaveLength(2);
    expect((await list(services, { triggers: 'manual,all' })).entries).toHaveLength(2);
    expect((await list(services, { triggers: 'manual' })).entries).toHaveLength(0);
    expect((await list(services, { folderPaths: 'north,/' })).entries).toHaveLength(2);
  });

  it('omits values beyond the size limit of a response, and shows the others', async () => {
    const setup = await setUp();
    const { services, engine } = setup;
    const largeWorkflow: Json = workflow(
      [block('A', 'bulk'), block('B', 'bulk'), fn('C', 'return 1')],
      ['Start -> A -> B -> C'],
      { id: 'large' },
    );
    await engine.execute(await deploy(setup, largeWorkflow), {}, { runId: 'r' });
    const { traceSpans } = await readDetail(services, 'r');
    expect(traceSpans.map((span) => [span.name, 'output' in span])).toEqual([
      ['Start', true],
      ['A', true],
      ['B', false],
      ['C', true],
    ]);
  });
});
