import type { RunEvent } from '@heddle/engine';
import { describe, expect, it } from 'vitest';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { sample } from '../support/scale.ts';
import { ScriptedExecutor, work } from '../support/scripted-executor.ts';
import { block, workflow } from '../support/workflow.ts';
import { expectTextEmittedAgain, startStreamingProcess } from './talk-process.ts';
import { STORE_OPTION_FACTORIES, openEngine, openReader } from './store-options.ts';
import {
  collect,
  emissionsIn,
  summarize,
  TALK_WORKFLOW,
  createTalkExecutor,
  TEXT,
  textByBlockName,
  WORDS,
} from './talk.ts';

const EVENT_SUMMARIES = [
  'run started',
  'Start started',
  'Start completed',
  ...['T', 'Z'].flatMap((name) => [
    `${name} started`,
    ...WORDS.map((word) => `${name} ${JSON.stringify(word)}`),
    `${name} completed`,
  ]),
  'run ended',
];

const sampledStores = sample(Object.entries(STORE_OPTION_FACTORIES), 2, 'stores with emissions of blocks');

describe.each(sampledStores)('emissions of blocks, with an engine on %s', (storeName, createStoreOptions) => {
  it('reach listeners of the process in order, with numbers from 1', async () => {
    const engine = await openEngine({ ...(await createStoreOptions()), blocks: [createTalkExecutor()] });
    const run = await engine.start({ workflow: TALK_WORKFLOW }, {}, { runId: 'r' });
    const events = await collect(run.events());
    const emissions = emissionsIn(events);
    expect(emissions.map(({ number }) => number)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(textByBlockName(emissions)).toEqual({ T: TEXT, Z: TEXT });
    expect(summarize(events)).toEqual(EVENT_SUMMARIES);
    // Listeners that are added after the end get the same events.
    for (const laterEvents of [await collect(engine.follow('r')), await collect(run.events())]) {
      expect(summarize(laterEvents)).toEqual(EVENT_SUMMARIES);
      expect(emissionsIn(laterEvents)).toEqual(emissions);
    }
  });

  it('reach a listener that is added while a block runs, including earlier emissions', async () => {
    const scriptedExecutor = new ScriptedExecutor();
    const engine = await openEngine({ ...(await createStoreOptions()), blocks: [scriptedExecutor.executor] });
    const run = await engine.start({ workflow: workflow([work('A')], ['Start -> A']) }, {}, { runId: 'r' });
    const call = await scriptedExecutor.nextCall('A');
    call.context.emit({ type: 'text', text: 'early ' });
    const firstListener = run.events()[Symbol.asyncIterator]();
    const seenEvents: RunEvent[] = [];
    while (emissionsIn(seenEvents).length === 0)
      seenEvents.push((await firstListener.next()).value as RunEvent);
    const secondListenerEvents = collect(run.events());
    call.context.emit({ type: 'thinking', text: 'hm' });
    call.context.emit({ type: 'text', text: 'late' });
    call.complete();
    seenEvents.push(...(await collect({ [Symbol.asyncIterator]: () => firstListener })));
    const expectedSummaries = [
      ...EVENT_SUMMARIES.slice(0, 3),
      'A started',
      'A "early "',
      'A thinking',
      'A "late"',
      'A completed',
    ];
    expect(summarize(seenEvents)).toEqual([...expectedSummaries, 'run ended']);
    expect(await secondListenerEvents).toEqual(seenEvents);
  });

  it('reach a listener that is added while the run waits for a person, and the stream ends at the pause', async () => {
    const engine = await openEngine({ ...(await createStoreOptions()), blocks: [createTalkExecutor()] });
    const pausingWorkflow = workflow(
      [block('T', 'talk'), block('H', 'human_in_the_loop'), block('Z', 'talk')],
      ['Start -> T -> H -> Z'],
    );
    const run = await engine.start({ workflow: pausingWorkflow });
    await run.result();
    const summaries = summarize(await collect(run.events()));
    const summariesBeforePause = [...EVENT_SUMMARIES.slice(0, 9), 'H started', 'H paused', 'run paused'];
    expect(summaries).toEqual(summariesBeforePause);
    // A new handle has only later events.
    const laterEvents = (await engine.attach(run.runId)).events();
    await engine.resume(run.runId);
    const summariesAfterPause = ['H completed', ...EVENT_SUMMARIES.slice(9)];
    expect(summarize(await collect(laterEvents)).filter((event) => event !== 'run paused')).toEqual(
      summariesAfterPause,
    );
    expect(summarize(await collect(run.events()))).toEqual([
      ...summariesBeforePause.slice(0, -1),
      ...summariesAfterPause,
    ]);
  });

  it('of a failed attempt are discarded before the next attempt', async () => {
    const engine = await openEngine({
      ...(await createStoreOptions()),
      blocks: [
        {
          types: ['flaky'],
          class: 'effect',
          execute: (context) => {
            context.emit({ type: 'text', text: `Attempt ${context.attempt}` });
            if (context.attempt === 1) throw new Error('Broken.');
            return { output: {} };
          },
        },
      ],
    });
    const retry = { enabled: true, maxTries: 2, waitBetweenTriesMs: 1 };
    const flakyWorkflow = workflow([block('F', 'flaky', {}, { retry })], ['Start -> F']);
    const run = await engine.start({ workflow: flakyWorkflow });
    const events = await collect(run.events());
    expect(textByBlockName(emissionsIn(events))).toEqual({ F: 'Attempt 2' });
    expect(emissionsIn(events).map(({ emission }) => emission.type)).toEqual(['text', 'reset', 'text']);
  });

  it.skipIf(storeName === 'memory')(
    'reach a reader in another process while the block runs, even a late reader',
    async () => {
      const storeOptions = await createStoreOptions();
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await openEngine({ ...storeOptions, blocks: [scriptedExecutor.executor] });
      const run = await engine.start({ workflow: workflow([work('A')], ['Start -> A']) }, {}, { runId: 'r' });
      const call = await scriptedExecutor.nextCall('A');
      call.context.emit({ type: 'text', text: 'early ' });
      const reader = await openReader(storeOptions);
      const events = reader.follow('r')[Symbol.asyncIterator]();
      const summaries: string[] = [];
      const readUntil = async (lastSummary: string): Promise<void> => {
        while (summaries.at(-1) !== lastSummary) {
          const { value, done } = await events.next();
          if (done) throw new Error(`ended after ${summaries.join(', ')}`);
          summaries.push(...summarize([value]));
        }
      };
      await readUntil('A "early "');
      call.context.emit({ type: 'thinking', text: 'hm' });
      call.context.emit({ type: 'text', text: 'late' });
      await readUntil('A "late"');
      call.complete();
      await readUntil('run ended');
      expect(summaries.slice(-6)).toEqual([
        'A started',
        'A "early "',
        'A thinking',
        'A "late"',
        'A completed',
        'run ended',
      ]);
      await run.result();
    },
  );

  it.skipIf(storeName === 'memory')(
    'are discarded if their process is killed, and the next process repeats all of them',
    async () => {
      const storeOptions = await createStoreOptions();
      const engine = storeOptions.postgres
        ? { postgres: { ...storeOptions.postgres, leaseMs: 3000 } }
        : { data: storeOptions.data ?? '' };
      await startStreamingProcess({ engine, killBeforeWord: 2 }).exited;
      await startStreamingProcess({ engine }).exited;
      const reader = await openReader(storeOptions);
      expectTextEmittedAgain(await collect(reader.follow('talk-run')));
    },
  );
});

describe.skipIf(!hasPostgres)('an engine on PostgreSQL', () => {
  it('forwards emissions of blocks that run in another engine', async () => {
    const postgres = { url: await createPostgresDatabase() };
    const scriptedExecutor = new ScriptedExecutor();
    const owner = await openEngine({ postgres, blocks: [scriptedExecutor.executor] });
    await owner.start({ workflow: workflow([work('A')], ['Start -> A']) }, {}, { runId: 'r' });
    const call = await scriptedExecutor.nextCall('A');
    call.context.emit({ type: 'text', text: 'missed' });
    const otherEngine = await openEngine({ postgres, blocks: [scriptedExecutor.executor], recover: false });
    const followedEvents = otherEngine.follow('r')[Symbol.asyncIterator]();
    const seenEvents: RunEvent[] = [];
    while (emissionsIn(seenEvents).length === 0)
      seenEvents.push((await followedEvents.next()).value as RunEvent);
    // `events` begins at the creation of the handle.
    const events = (await otherEngine.attach('r')).events()[Symbol.asyncIterator]();
    const firstEvent = events.next();
    const waitShortly = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));
    for (let done = false; !done;) {
      call.context.emit({ type: 'text', text: '.' });
      done = await Promise.race([firstEvent.then(() => true), waitShortly().then(() => false)]);
    }
    call.complete();
    const laterEvents = [
      (await firstEvent).value as RunEvent,
      ...(await collect({ [Symbol.asyncIterator]: () => events })),
    ];
    seenEvents.push(...(await collect({ [Symbol.asyncIterator]: () => followedEvents })));
    expect(textByBlockName(emissionsIn(laterEvents))['A']).toMatch(/^\.+$/);
    expect(textByBlockName(emissionsIn(seenEvents))['A']).toMatch(/^missed\.+$/);
    expect(summarize(laterEvents).slice(-2)).toEqual(['A completed', 'run ended']);
  });
});
