import { createEngine } from '@heddle/engine';
import type { RunDetail } from '@heddle/engine';
import { openStores } from '@heddle/engine/stores';
import type { SharedStores } from '@heddle/engine/stores';
import { createWorker, temporal } from '@heddle/temporal';
import type { TemporalOptions, WorkerOptions } from '@heddle/temporal';
import { defaultPayloadConverter, WorkflowClient } from '@temporalio/client';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { sampledTests } from '../support/scale.ts';
import { overrideMethods } from '../support/override-methods.ts';
import { ScriptedExecutor, work } from '../support/scripted-executor.ts';
import { describeTemporal } from '../support/temporal.ts';
import { block, fn, workflow } from '../support/workflow.ts';
import { startProxy } from './server-proxy.ts';
import { openClient, countEvents } from './history.ts';
import { createCluster } from './cluster.ts';
import { eventTypeOf } from './replay/histories.ts';

const POLL_OPTIONS = { timeout: 45_000 };
const quietOptions = { onError: (): void => undefined };
const oneBlockWorkflow = workflow([fn('A', 'return 1')], ['Start -> A']);

/** Opens the stores of `data` with some methods replaced. The stores are closed after the test. */
function openStoresWith(
  data: string,
  createOverrides: (stores: SharedStores) => {
    runs?: Partial<SharedStores['runs']>;
    values?: Partial<SharedStores['values']>;
    definitions?: Partial<SharedStores['definitions']>;
  },
): SharedStores {
  const stores = openStores({ data, shared: true });
  onTestFinished(() => stores.close());
  const { runs = {}, values = {}, definitions = {} } = createOverrides(stores);
  return {
    ...stores,
    runs: overrideMethods(stores.runs, runs),
    values: overrideMethods(stores.values, values),
    definitions: overrideMethods(stores.definitions, definitions),
  };
}

/** Opens the stores of `data`. Between `stall` and `resume`, no record is written. */
function openStallableStores(data: string) {
  const { promise: resumption, resolve: resume } = Promise.withResolvers<void>();
  let isStalled = false;
  const stores = openStoresWith(data, ({ runs }) => ({
    runs: {
      saveRecord: async (...args) => {
        if (isStalled) await resumption;
        return runs.saveRecord(...args);
      },
    },
  }));
  return { stores, stall: () => void (isStalled = true), resume };
}

const suspendedRun = (reason: RegExp): Partial<RunDetail> => ({
  status: 'running',
  suspended: expect.stringMatching(reason) as string,
});

describeTemporal('faults', (server) => {
  const sampledIt = sampledTests(1 / 6, 'faults of runs on Temporal');

  describe.each([
    ['an unreachable server', { address: '127.0.0.1:9' }, /127\.0\.0\.1:9 cannot be reached/],
    ['an unknown namespace', { namespace: 'nowhere' }, /namespace "nowhere".*cannot be used/],
  ])('%s', (_, invalidOption, message) => {
    const target = { ...server, ...invalidOption };
    const expectedError = { code: 'RUNTIME_UNREACHABLE', message: expect.stringMatching(message) as string };

    it('is reported when an engine opens', async () => {
      const { data } = createCluster(server);
      const runtime = temporal({ address: target.address, namespace: target.namespace, data });
      await expect(createEngine({ runtime })).rejects.toMatchObject(expectedError);
    });

    it('is reported when a worker opens', async () => {
      const { data } = createCluster(server);
      const options = { address: target.address, namespace: target.namespace, data };
      await expect(createWorker(options)).rejects.toMatchObject(expectedError);
    });
  });

  describe('a run that was recorded when its server was unreachable', () => {
    const sampledIt = sampledTests(1 / 3, 'runs of an unreachable server of Temporal');
    /** Opens an engine, cuts it off from its server, and calls `start`, which fails. */
    async function startRunWithoutServer(): Promise<{
      cluster: ReturnType<typeof createCluster>;
      runId: string;
      error: unknown;
    }> {
      const cluster = createCluster(server);
      const proxy = await startProxy(server.address);
      const engine = await cluster.openEngine(quietOptions, {
        address: proxy.address,
      } as Partial<TemporalOptions>);
      proxy.disconnect();
      const runId = `stranded-${cluster.queue}`;
      const error: unknown = await engine
        .start({ workflow: oneBlockWorkflow }, {}, { runId })
        .catch((reason: unknown) => reason);
      return { cluster, runId, error };
    }

    sampledIt('fails for its caller, and is started by a later worker', async () => {
      const { cluster, runId, error } = await startRunWithoutServer();
      expect(error).toMatchObject({ code: 'RUNTIME_UNREACHABLE' });
      await cluster.startWorker();
      const engine = await cluster.openEngine();
      await expect
        .poll(() => engine.getRun(runId), POLL_OPTIONS)
        .toMatchObject({ status: 'completed', suspended: null });
      expect((await engine.listRuns()).runs).toHaveLength(1);
    });

    sampledIt('is started by a later engine, for any worker', async () => {
      const { cluster, runId } = await startRunWithoutServer();
      const engine = await cluster.openEngine();
      const client = await openClient(server);
      await expect
        .poll(
          () =>
            client.workflow
              .getHandle(runId)
              .describe()
              .catch(() => undefined),
          POLL_OPTIONS,
        )
        .toBeDefined();
      expect(await engine.getRun(runId)).toMatchObject(suspendedRun(/recorded but not started/));
      await cluster.startWorker();
      await expect
        .poll(() => engine.getRun(runId), POLL_OPTIONS)
        .toMatchObject({ status: 'completed', suspended: null });
    });

    sampledIt('can be cancelled before any block has run', async () => {
      const { cluster, runId } = await startRunWithoutServer();
      // A worker that gets a task would complete the run.
      const worker = await cluster.startWorker({ tuning: { roles: ['effects'] } });
      const engine = await cluster.openEngine();
      const cancellation = engine.cancel(runId, 'no longer needed');
      await cluster.startWorker();
      expect(await cancellation).toBe(true);
      expect(await engine.getRun(runId)).toMatchObject({ status: 'cancelled' });
      expect(worker.status().taskCounters).toEqual([]);
    });
  });

  sampledIt(
    'a worker without an environment variable leaves the run to a worker that has it, and the run shows the reason',
    { timeout: 240_000 },
    async () => {
      const cluster = createCluster(server);
      const engine = await cluster.openEngine({ env: { WOOL: 'sheep' } });
      const incompleteWorker = await cluster.startWorker(quietOptions);
      const definition = workflow([fn('A', 'return "{{WOOL}}".length')], ['Start -> A']);
      const { runId } = await engine.start({ workflow: definition });
      await expect
        .poll(() => engine.getRun(runId), POLL_OPTIONS)
        .toMatchObject(suspendedRun(/needs a value for \{\{WOOL\}\}/));
      // The worker without the value does not keep the run. Either worker gets the next attempt, and the delay between
      // attempts doubles up to 30 s.
      await cluster.startWorker({ env: { WOOL: 'sheep' } });
      await expect
        .poll(() => engine.getRun(runId), { timeout: 150_000 })
        .toMatchObject({
          status: 'completed',
          suspended: null,
          output: { result: 5 },
        });
      expect(incompleteWorker.status().state).toBe('polling');
      expect(await countEvents(await openClient(server), runId)).not.toHaveProperty('workflowTaskFailed');
    },
  );

  sampledIt('a worker without an executor for a block type fails the block and names the type', async () => {
    const cluster = createCluster(server);
    const engine = await cluster.openEngine({ blocks: [new ScriptedExecutor().executor] });
    await cluster.startWorker(quietOptions);
    const run = await engine.execute({ workflow: workflow([work('A')], ['Start -> A']) });
    expect(run).toMatchObject({
      status: 'failed',
      error: { code: 'BLOCK_TYPE_UNKNOWN', message: expect.stringContaining('work') as string },
    });
  });

  sampledIt(
    'a run with a newer plan than the worker supports waits for a newer worker, and shows the reason',
    async () => {
      const cluster = createCluster(server);
      const engine = await cluster.openEngine();
      const newerPlanStores = openStoresWith(cluster.data, ({ definitions }) => ({
        definitions: {
          plan: async (hash: string) => ({ ...((await definitions.plan(hash)) as object), format: 99 }),
        },
      }));
      const worker = await cluster.startWorker({
        ...quietOptions,
        stores: newerPlanStores,
      } as Partial<WorkerOptions>);
      const { runId } = await engine.start({ workflow: oneBlockWorkflow });
      await expect
        .poll(() => engine.getRun(runId), POLL_OPTIONS)
        .toMatchObject(suspendedRun(/format version 99, but this engine supports 1/));
      await worker.stop({ drainMs: 0 });
      await cluster.startWorker();
      await expect
        .poll(() => engine.getRun(runId), POLL_OPTIONS)
        .toMatchObject({ status: 'completed', suspended: null });
    },
  );

  sampledIt(
    'a run of a newer version of Heddle fails on the server, and its record has the reason',
    async () => {
      const cluster = createCluster(server);
      const engine = await cluster.openEngine();
      await cluster.startWorker(quietOptions);
      changeInputs((input) => ({ ...input, format: 99 }));
      const { runId } = await engine.start({ workflow: oneBlockWorkflow });
      await expect
        .poll(() => engine.getRun(runId), POLL_OPTIONS)
        .toMatchObject(suspendedRun(/newer Heddle started this run \(format 99/));
      const client = await openClient(server);
      await expect(client.workflow.getHandle(runId).result()).rejects.toMatchObject({
        cause: { type: 'DATA_FORMAT_UNSUPPORTED' },
      });
      expect(await engine.cancel(runId, 'never mind')).toBe(true);
      expect(await engine.getRun(runId)).toMatchObject({ status: 'cancelled', suspended: null });
    },
  );

  sampledIt('a missing stored value suspends the run, which continues when the value is back', async () => {
    const cluster = createCluster(server);
    const scriptedExecutor = new ScriptedExecutor();
    const engine = await cluster.openEngine({ blocks: [scriptedExecutor.executor] });
    let isLost = false;
    const stores = openStoresWith(cluster.data, ({ values }) => ({
      values: { get: (key) => (isLost ? undefined : values.get(key)) },
    }));
    await cluster.startWorker({
      ...quietOptions,
      blocks: [scriptedExecutor.executor],
      stores,
    } as Partial<WorkerOptions>);
    const definition = workflow(
      [fn('Large', 'return "x".repeat(20000)'), work('A'), fn('Z', 'return <large.result>.length')],
      ['Start -> Large -> A -> Z'],
    );
    const { runId } = await engine.start({ workflow: definition });
    const call = await scriptedExecutor.nextCall('A');
    isLost = true;
    call.complete();
    await expect
      .poll(() => engine.getRun(runId), POLL_OPTIONS)
      .toMatchObject(suspendedRun(/value .* is not in the value store/));
    expect(await countEvents(await openClient(server), runId)).not.toHaveProperty('workflowTaskFailed');
    isLost = false;
    await expect
      .poll(() => engine.getRun(runId), POLL_OPTIONS)
      .toMatchObject({
        status: 'completed',
        suspended: null,
        output: { result: 20000 },
      });
  });

  sampledIt(
    'an activity that writes a record sends heartbeats, so that another worker soon repeats it if this worker dies',
    async () => {
      const cluster = createCluster(server);
      const { stores, stall, resume } = openStallableStores(cluster.data);
      const engine = await cluster.openEngine({}, { worker: true, stores } as Partial<TemporalOptions>);
      const pausingWorkflow = workflow(
        [block('H', 'human_in_the_loop'), block('I', 'human_in_the_loop')],
        ['Start -> H', 'Start -> I'],
      );
      const { runId } = await engine.execute({ workflow: pausingWorkflow });
      const [pause] = (await engine.getRun(runId)).pauses;
      stall();
      // A regular activity writes the record after an answer.
      const resumption = engine.resume(runId, { token: pause?.token ?? '' });
      const handle = (await openClient(server)).workflow.getHandle(runId);
      const findActivity = async () => (await handle.describe()).raw.pendingActivities?.[0];
      await expect.poll(findActivity, POLL_OPTIONS).toMatchObject({
        activityType: { name: 'heddle.settle' },
        lastHeartbeatTime: expect.anything() as object,
      });
      const { events } = await handle.fetchHistory();
      const scheduledEvent = events?.find((event) => event.activityTaskScheduledEventAttributes);
      expect(Number(scheduledEvent?.activityTaskScheduledEventAttributes?.heartbeatTimeout?.seconds)).toBe(
        10,
      );
      resume();
      await resumption;
      expect((await engine.getRun(runId)).pauses).toHaveLength(1);
    },
  );

  sampledIt(
    'a cancel request that arrives while a run continues in a new history cancels the run',
    async () => {
      const cluster = createCluster(server);
      const { stores, stall, resume } = openStallableStores(cluster.data);
      const engine = await cluster.openEngine({}, {
        worker: true,
        stores,
        continueAsNewAfter: 1,
      } as Partial<TemporalOptions>);
      // The wait is a command. Therefore the answer to H uses up the budget of the history.
      const pausingWorkflow = workflow(
        [
          block('H', 'human_in_the_loop'),
          block('I', 'human_in_the_loop'),
          block('W', 'wait', { timeValue: '1', timeUnit: 'hours' }),
        ],
        ['Start -> H', 'Start -> I', 'Start -> W'],
      );
      const { runId } = await engine.execute({ workflow: pausingWorkflow });
      const handle = (await openClient(server)).workflow.getHandle(runId);
      const readEventTypes = async () => ((await handle.fetchHistory()).events ?? []).map(eventTypeOf);
      await expect.poll(readEventTypes, POLL_OPTIONS).toContain('timerStarted');
      const [pause] = (await engine.getRun(runId)).pauses.filter(({ kind }) => kind === 'human');
      stall();
      const resumption = engine.resume(runId, { token: pause?.token ?? '' });
      await expect.poll(readEventTypes, POLL_OPTIONS).toContain('activityTaskScheduled');
      const cancellation = engine.cancel(runId, 'no longer needed');
      await expect
        .poll(async () => (await readEventTypes()).slice(-2), POLL_OPTIONS)
        .toEqual(['workflowTaskStarted', 'workflowTaskCompleted']);
      expect(await readEventTypes()).toContain('workflowExecutionCancelRequested');
      resume();
      expect(await cancellation).toBe(true);
      await resumption;
      expect(await engine.getRun(runId)).toMatchObject({ status: 'cancelled' });
    },
  );

  it('a fault that stops a child run also stops its parent, whose record has the same reason', async () => {
    const engine = await createCluster(server).openEngine(quietOptions, { worker: true });
    await engine.deploy(workflow([fn('F', 'return 1')], ['Start -> F'], { id: 'child', name: 'Child' }));
    changeChildInputs((input) => ({ ...input, format: 1_000 }));
    const parent = workflow(
      [block('C', 'workflow_input', { workflowId: 'child' }), fn('E', 'return 2')],
      ['Start -> C', 'C:error -> E'],
    );
    const { runId } = await engine.start({ workflow: parent });
    const reason = /A newer Heddle started this run/;
    await expect.poll(() => engine.getRun(runId), POLL_OPTIONS).toMatchObject(suspendedRun(reason));
    const [child] = await engine.childRuns(runId);
    expect(await engine.getRun(child?.runId ?? '')).toMatchObject(suspendedRun(reason));
    expect(await countEvents(await openClient(server), runId)).toMatchObject({
      startChildWorkflowExecutionInitiated: 1,
    });
  });

  describe('the size limits of the server', () => {
    const sampledIt = sampledTests(1 / 3, 'limits of the server of Temporal');
    // Ids count towards the size, because they are part of the control flow.
    const wideNames = Array.from({ length: 1400 }, (_, index) => `B${index}${'x'.repeat(900)}`);
    const wideWorkflow = workflow(
      wideNames.map((name) => fn(name, 'return 1')),
      wideNames.map((name) => `Start -> ${name}`),
      { id: 'wide', name: 'Wide' },
    );
    const message = /"Wide" is too large for Temporal: .* Split it/;

    sampledIt('refuse a run whose plan is too large, without a record', async () => {
      const engine = await createCluster(server).openEngine();
      await expect(engine.start({ workflow: wideWorkflow })).rejects.toMatchObject({
        code: 'OPTIONS_INVALID',
        message: expect.stringMatching(message) as string,
      });
      expect((await engine.listRuns()).runs).toEqual([]);
    });

    sampledIt('fail a block that calls a child with a plan above the limit', async () => {
      const engine = await createCluster(server).openEngine(quietOptions, { worker: true });
      await engine.deploy(wideWorkflow);
      const caller = workflow([block('W', 'workflow_input', { workflowId: 'wide' })], ['Start -> W']);
      expect(await engine.execute({ workflow: caller })).toMatchObject({
        status: 'failed',
        error: { code: 'CHILD_FAILED', message: expect.stringMatching(message) as string },
      });
    });

    sampledIt('suspend a run before its state reaches the limit, and its record has the reason', async () => {
      const scriptedExecutor = new ScriptedExecutor({}, () => ({ output: {} }));
      const blocks = [scriptedExecutor.executor];
      const engine = await createCluster(server).openEngine(
        { ...quietOptions, blocks },
        { worker: true, continueAsNewAfter: 1 },
      );
      changeInputs((input) => ({
        ...input,
        effects: { none: { type: 'x'.repeat(1_950_000), name: 'none' } },
      }));
      const names = ['A', 'B', 'C', 'D', 'E', 'F'];
      const chain = workflow(
        names.map((name) => work(name)),
        [`Start -> ${names.join(' -> ')}`],
      );
      const { runId } = await engine.start({ workflow: chain });
      await expect
        .poll(() => engine.getRun(runId), POLL_OPTIONS)
        .toMatchObject(suspendedRun(/too large for Temporal/));
      expect(await countEvents(await openClient(server), runId)).not.toHaveProperty('workflowTaskFailed');
    });
  });
});

/** Changes the input of the workflows that this test starts. */
function changeInputs(change: (input: object) => object): void {
  const start = WorkflowClient.prototype.start;
  vi.spyOn(WorkflowClient.prototype, 'start').mockImplementation(function (
    this: WorkflowClient,
    type,
    options,
  ) {
    const [input] = (options as unknown as { args: [object] }).args;
    return start.call(this, type as string, { ...options, args: [change(input)] } as never) as never;
  });
}

/** Changes the input of the child workflows that workers of this test start. */
function changeChildInputs(change: (input: object) => object): void {
  const toPayload = defaultPayloadConverter.toPayload.bind(defaultPayloadConverter);
  vi.spyOn(defaultPayloadConverter, 'toPayload').mockImplementation((value) => {
    const { children } = (value ?? {}) as { children?: { input: object }[] };
    const changedChildren = children?.map((child) => ({ ...child, input: change(child.input) }));
    return toPayload(changedChildren ? { ...(value as object), children: changedChildren } : value);
  });
}
