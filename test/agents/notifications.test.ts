import { blocks } from '@heddle/blocks';
import { createEngine } from '@heddle/engine';
import type { JsonObject } from '@heddle/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { createPostgresDatabase, storesToTest } from '../support/postgres.ts';
import { TestClock } from '../support/test-clock.ts';
import { getOnlyPause } from './approvals.ts';
import {
  approvalWorkflow,
  pauseDataOf,
  describeInterruptedPauses,
  describeNotifications,
  notificationTool,
  pauseLinks,
  rejectOnAbort,
  TELL_NOTIFICATION,
} from './notifications.ts';
import { describeOnStores } from './describe-on-stores.ts';

describeOnStores(describeNotifications);

describe.each(storesToTest('pauses of a process that ends'))('on %s,', (store) => {
  describeInterruptedPauses(async () => {
    const storeOptions =
      store === 'sqlite'
        ? { data: createDataFolder() }
        : { postgres: { url: await createPostgresDatabase(), leaseMs: 3000 } };
    return async (options) => {
      const engine = await createEngine({ ...options, ...storeOptions });
      onTestFinished(() => engine.close({ graceMs: 0 }));
      return { engine, stop: () => engine.close({ graceMs: 0 }) };
    };
  });
});

describe('a notification whose tool does not return', () => {
  it('is aborted after a minute, and the pause opens', async () => {
    const clock = new TestClock();
    const { promise: toolCallPromise, resolve } = Promise.withResolvers<void>();
    const silentTool = notificationTool((_, { signal }) => {
      resolve();
      return rejectOnAbort(signal);
    });
    const engine = await createEngine({ blocks: blocks({ tools: [silentTool] }), clock, pauseLinks });
    onTestFinished(() => engine.close({ graceMs: 0 }));
    const { runId, result } = await engine.start({ workflow: approvalWorkflow([TELL_NOTIFICATION]) });
    await toolCallPromise;
    clock.advance(60_000);
    expect(await result()).toMatchObject({ status: 'paused' });
    const { output } = await getOnlyPause(engine, runId);
    expect(pauseDataOf(output).notifications).toMatchObject([{ status: 'unknown' }]);
  });
});

describe('the notifications of a pause', () => {
  it('are sent up to a limit of 20, and cannot come from the input of a run', async () => {
    const notificationArgs: JsonObject[] = [];
    const tool = notificationTool(async (args) => {
      notificationArgs.push(args);
      return null;
    });
    const engine = await createEngine({ blocks: blocks({ tools: [tool] }) });
    onTestFinished(() => engine.close({ graceMs: 0 }));
    const configs = Array.from({ length: 21 }, () => ({ type: 'tell', params: { text: 'x' } }));
    const run = await engine.start({ workflow: approvalWorkflow(configs) });
    await run.result();
    expect(notificationArgs).toHaveLength(20);
    const { output } = await getOnlyPause(engine, run.runId);
    const notifications = pauseDataOf(output).notifications as JsonObject[];
    expect(notifications.at(-1)).toMatchObject({
      status: 'failed',
      error: expect.stringContaining('20') as string,
    });
    const runWithInjection = await engine.start(
      { workflow: approvalWorkflow('<start.configs>') },
      { configs },
    );
    await runWithInjection.result();
    expect(notificationArgs).toHaveLength(20);
  });

  it('are recorded as failed in an engine without tools', async () => {
    const engine = await createEngine();
    onTestFinished(() => engine.close({ graceMs: 0 }));
    const { runId, result } = await engine.start({ workflow: approvalWorkflow([TELL_NOTIFICATION]) });
    expect(await result()).toMatchObject({ status: 'paused' });
    const { output } = await getOnlyPause(engine, runId);
    expect(pauseDataOf(output).notifications).toMatchObject([{ type: 'tell', status: 'failed' }]);
  });
});
