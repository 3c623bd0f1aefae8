import type { Entry, Json, RunHeader, RunRecord } from '@heddle/core';
import { createWorkerResources, Segments } from '@heddle/engine/runtime';
import { openStores } from '@heddle/engine/stores';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createEngineOn } from '../../packages/engine/src/create.ts';
import { builtInExecutors } from '../../packages/engine/src/executors/built-ins.ts';
import { createRegistry } from '../../packages/engine/src/executors/registry.ts';
import { childRunId } from '../../packages/engine/src/execution/child-runs.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { createEntry, createRunHeader, createRunRecord, createStartedEntry } from '../support/run-data.ts';
import { block, fn, workflow } from '../support/workflow.ts';

const PARENT = workflow([block('W', 'workflow', { workflowId: 'child' })], ['Start -> W'], { id: 'parent' });
const CHILD = workflow([fn('F', 'return "honest"')], ['Start -> F'], { id: 'child', name: 'Child' });
const FORGED = { result: { result: 'forged' } };

const openEngine = (dataFolder: string) =>
  createEngineOn(openStores({ data: dataFolder }), createRegistry(builtInExecutors, []), {});

/**
 * Records a parent run as older versions did, without a key for the ids of its children. Its start block has ended,
 * and its call of the child is pending.
 */
async function addOldParent(dataFolder: string, header: Partial<RunHeader> = {}) {
  const stores = openStores({ data: dataFolder });
  const workerResources = createWorkerResources(stores, {});
  onTestFinished(() => workerResources.close());
  const { definitions } = workerResources.dependencies;
  const { plan } = definitions.compile(PARENT);
  await stores.definitions.putPlan(plan.hash, plan as unknown as Json);
  await definitions.deploy(CHILD, {});
  const [callBlock] = Object.values(plan.blocks).filter(({ type }) => type === 'workflow');
  const parent = createRunHeader('old-parent', { workflowId: 'parent', planHash: plan.hash, ...header });
  const firstEntry = { ...createStartedEntry(), start: plan.start } as Entry;
  const { type: _, ...secondEntry } = createEntry(2);
  await stores.runs.create(parent, firstEntry);
  await stores.runs.append(parent.runId, [
    { ...secondEntry, type: 'completed', block: plan.start, scope: [] } as Entry,
  ]);
  const childId = childRunId(parent, { place: { block: callBlock?.id ?? '', scope: [] }, attempt: 1 });
  return { stores, workerResources, plan, parent, callBlockId: callBlock?.id ?? '', childId };
}

const completedRecord = (runId: string, overrides: Partial<RunRecord> = {}): RunRecord =>
  createRunRecord(runId, { status: 'completed', output: { v: FORGED }, endedMs: 2000, ...overrides });

describe('a run with the id of a child run', () => {
  it('does not count as the child unless its header names parent, block and scope', async () => {
    const dataFolder = createDataFolder();
    const { stores, childId, plan } = await addOldParent(dataFolder);
    await stores.runs.create(
      createRunHeader(childId, { planHash: plan.hash }),
      createStartedEntry(),
      completedRecord(childId),
    );
    stores.close();
    const engine = await openEngine(dataFolder);
    onTestFinished(() => engine.close({ graceMs: 0 }));
    await expect.poll(async () => (await engine.getRun('old-parent')).status).toBe('failed');
    const run = await engine.getRun('old-parent');
    expect(run.error).toMatchObject({
      code: 'CHILD_FAILED',
      message: expect.stringContaining(childId) as string,
    });
    expect(JSON.stringify(run)).not.toContain('forged');
  });

  it('counts as the child if its header names parent, block and scope, even if its id was made without a key', async () => {
    const dataFolder = createDataFolder();
    const { stores, childId, plan, callBlockId, parent } = await addOldParent(dataFolder);
    const header = createRunHeader(childId, {
      planHash: plan.hash,
      workflowId: 'child',
      parent: { runId: parent.runId, block: callBlockId, scope: [], depth: 1 },
    });
    await stores.runs.create(
      header,
      createStartedEntry(),
      completedRecord(childId, { output: { v: { result: 'earlier' } } }),
    );
    stores.close();
    const engine = await openEngine(dataFolder);
    onTestFinished(() => engine.close({ graceMs: 0 }));
    await expect.poll(async () => (await engine.getRun('old-parent')).status).toBe('completed');
    expect((await engine.getRun('old-parent')).output).toMatchObject({ result: { result: 'earlier' } });
  });

  it('is not cancelled with the parent unless it is the child', async () => {
    const dataFolder = createDataFolder();
    const { stores, childId, plan } = await addOldParent(dataFolder);
    await stores.runs.create(
      createRunHeader(childId, { planHash: plan.hash }),
      createStartedEntry(),
      createRunRecord(childId),
    );
    stores.close();
    const engine = await createEngineOn(
      openStores({ data: dataFolder }),
      createRegistry(builtInExecutors, []),
      { recover: false },
    );
    onTestFinished(() => engine.close({ graceMs: 0 }));
    expect(await engine.cancel('old-parent')).toBe(true);
    expect((await engine.getRun(childId)).status).toBe('running');
  });

  it('does not count as the child of a run on another runtime', async () => {
    const { stores, workerResources, childId, plan, callBlockId } = await addOldParent(createDataFolder(), {
      elsewhere: true,
    });
    await stores.runs.create(
      createRunHeader(childId, { planHash: plan.hash, elsewhere: true }),
      createStartedEntry(),
      completedRecord(childId),
    );
    const segments = new Segments(workerResources.dependencies);
    const node = plan.skeleton.nodes.findIndex(({ id }) => id === callBlockId);
    const { entries, calls } = await segments.run({
      runId: 'old-parent',
      position: { seq: 2, tip: 'start', unwritten: [] },
      owed: [{ type: 'run', at: [node], try: 1 }],
      beyond: true,
      softMs: 60_000,
      signal: new AbortController().signal,
    });
    expect(calls).toEqual([]);
    expect(entries.at(-1)).toMatchObject({
      type: 'failed',
      block: callBlockId,
      error: { code: 'CHILD_FAILED' },
    });
  });
});

describe('the key of a run', () => {
  it('determines the ids of its children, and is in no result of the engine', async () => {
    const stores = openStores();
    const engine = await createEngineOn(stores, createRegistry(builtInExecutors, []), {});
    onTestFinished(() => engine.close({ graceMs: 0 }));
    await engine.deploy(CHILD);
    const run = await engine.start({ workflow: PARENT });
    const events = [];
    for await (const event of run.events()) events.push(event);
    const { runId } = await run.result();
    const header = await stores.runs.header(runId);
    expect(header?.childKey).toMatch(/^[\w-]{32}$/);
    const { runs } = await engine.listRuns();
    const ids = runs.map((childRun) => childRun.runId);
    const childId = childRunId(header as RunHeader, { place: { block: 'W', scope: [] }, attempt: 1 });
    expect(ids.toSorted()).toEqual([runId, childId].toSorted());
    expect(await stores.runs.header(childId)).toMatchObject({ version: 1 });
    const results = await Promise.all([engine.getRun(runId), engine.getLogs(runId), engine.getTrace(runId)]);
    const storedData = [await stores.runs.journal(runId), await stores.runs.record(runId)];
    expect(JSON.stringify([runs, events, results, storedData])).not.toContain(header?.childKey);
  });
});
