import { blocks } from '@heddle/blocks';
import { createEngine } from '@heddle/engine';
import type { JsonObject } from '@heddle/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { drawnStores, postgresDatabase } from '../support/postgres.ts';
import { TestClock } from '../support/test-clock.ts';
import { onlyPause } from './approvals.ts';
import {
  asking,
  dataOf,
  describeInterrupted,
  describeNotifications,
  pauseLinks,
  stopped,
  TELL,
  teller,
} from './notifications.ts';
import { describeOnStores } from './on-stores.ts';

describeOnStores(describeNotifications);

describe.each(drawnStores('pauses of a process that ends'))('on %s,', (store) => {
  describeInterrupted(async () => {
    const place =
      store === 'sqlite'
        ? { data: dataFolder() }
        : { postgres: { url: await postgresDatabase(), leaseMs: 1000 } };
    return async (options) => {
      const engine = await createEngine({ ...options, ...place });
      onTestFinished(() => engine.close({ graceMs: 0 }));
      return { engine, stop: () => engine.close({ graceMs: 0 }) };
    };
  });
});

describe('a notification without an answer', () => {
  it('is aborted after a minute, and the pause opens', async () => {
    const clock = new TestClock();
    const { promise: asked, resolve } = Promise.withResolvers<void>();
    const silent = teller((_, { signal }) => {
      resolve();
      return stopped(signal);
    });
    const engine = await createEngine({ blocks: blocks({ tools: [silent] }), clock, pauseLinks });
    onTestFinished(() => engine.close({ graceMs: 0 }));
    const { runId, result } = await engine.start({ workflow: asking([TELL]) });
    await asked;
    clock.advance(60_000);
    expect(await result()).toMatchObject({ status: 'paused' });
    const { output } = await onlyPause(engine, runId);
    expect(dataOf(output).notifications).toMatchObject([{ status: 'unknown' }]);
  });
});

describe('rows that name no tools', () => {
  it('send at most twenty notifications, and never read tools from a caller', async () => {
    const notified: JsonObject[] = [];
    const tool = teller(async (args) => {
      notified.push(args);
      return null;
    });
    const engine = await createEngine({ blocks: blocks({ tools: [tool] }) });
    onTestFinished(() => engine.close({ graceMs: 0 }));
    const rows = Array.from({ length: 21 }, () => ({ type: 'tell', params: { text: 'x' } }));
    const many = await engine.start({ workflow: asking(rows) });
    await many.result();
    expect(notified).toHaveLength(20);
    const all = dataOf((await onlyPause(engine, many.runId)).output).notifications as JsonObject[];
    expect(all.at(-1)).toMatchObject({ status: 'failed', error: expect.stringContaining('20') as string });
    const injected = await engine.start({ workflow: asking('<start.rows>') }, { rows });
    await injected.result();
    expect(notified).toHaveLength(20);
  });

  it('are recorded as failed in an engine without tools', async () => {
    const engine = await createEngine();
    onTestFinished(() => engine.close({ graceMs: 0 }));
    const { runId, result } = await engine.start({ workflow: asking([TELL]) });
    expect(await result()).toMatchObject({ status: 'paused' });
    const { output } = await onlyPause(engine, runId);
    expect(dataOf(output).notifications).toMatchObject([{ type: 'tell', status: 'failed' }]);
  });
});
