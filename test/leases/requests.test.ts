import { randomUUID } from 'node:crypto';
import type { Engine, EngineOptions } from '@heddle/engine';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { builtInExecutors } from '../../packages/engine/src/executors/built-ins.ts';
import { createRegistry } from '../../packages/engine/src/executors/registry.ts';
import { createPostgresEngine } from '../../packages/engine/src/runtime/leased/create.ts';
import type { LeaseTiming } from '../../packages/engine/src/runtime/leased/create.ts';
import type { RequestStore } from '../../packages/engine/src/store/control.ts';
import { openLeasedStores } from '../../packages/engine/src/store/open-postgres.ts';
import { overrideMethods } from '../support/override-methods.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { ScriptedExecutor, work } from '../support/scripted-executor.ts';
import { TestClock } from '../support/test-clock.ts';
import { workflow } from '../support/workflow.ts';

let url = '';
const singleBlockSource = { workflow: workflow([work('A')], ['Start -> A']) };

interface ProcessOptions extends LeaseTiming {
  schema: string;
  requests?: Partial<RequestStore>;
}

/** Opens an engine that acts as a separate process. `requests` replaces methods of its store of requests. */
async function openEngine(
  { schema, requests = {}, ...timing }: ProcessOptions,
  options: EngineOptions,
): Promise<Engine> {
  const stores = await openLeasedStores({ url, schema, maxConnections: 3 });
  const engine = await createPostgresEngine(
    { ...stores, requests: overrideMethods(stores.requests, requests) },
    createRegistry(builtInExecutors, options.blocks),
    options,
    timing,
  );
  onTestFinished(() => engine.close({ graceMs: 0 }));
  return engine;
}

describe.skipIf(!hasPostgres)('a cancellation of a run that another process executes', () => {
  beforeAll(async () => {
    url = await createPostgresDatabase();
  });

  it('succeeds even if its request cannot be removed afterwards, and reports this', async () => {
    const schema = randomUUID();
    const scriptedExecutor = new ScriptedExecutor();
    const owner = await openEngine({ schema }, { blocks: [scriptedExecutor.executor] });
    const reports: unknown[] = [];
    const connectionError = new Error('The connection was lost.');
    const caller = await openEngine(
      { schema, requests: { remove: () => Promise.reject(connectionError) } },
      { recover: false, onError: (...report) => void reports.push(report) },
    );
    const { runId } = await owner.start(singleBlockSource);
    await scriptedExecutor.nextCall('A');
    expect(await caller.cancel(runId)).toBe(true);
    expect(reports).toEqual([[connectionError, runId]]);
  });

  it('succeeds even if that process dies after it has cancelled the run and before it has stored the outcome', async () => {
    const schema = randomUUID();
    const scriptedExecutor = new ScriptedExecutor();
    const options = { blocks: [scriptedExecutor.executor] };
    const cancellation = Promise.withResolvers<void>();
    const requests = { settle: async () => cancellation.resolve() };
    const owner = await openEngine({ schema, requests }, options);
    const clock = new TestClock();
    const caller = await openEngine({ schema, clock }, { ...options, recover: false });
    const { runId } = await owner.start(singleBlockSource);
    await scriptedExecutor.nextCall('A');
    let wasCancelled: boolean | undefined;
    void caller.cancel(runId).then((value) => (wasCancelled = value));
    await cancellation.promise;
    await vi.waitUntil(() => {
      clock.advance(100);
      return wasCancelled !== undefined;
    });
    expect(wasCancelled).toBe(true);
    expect(await caller.getRun(runId)).toMatchObject({ status: 'cancelled' });
    expect(await caller.cancel(runId)).toBe(false);
  });
});
