import type { BlockEmission, BlockResult } from '@heddle/core/blocks';
import type { RunEvent, RunHandle } from '@heddle/engine';
import { describe, expect, it } from 'vitest';
import { ScriptedExecutor } from '../support/scripted-executor.ts';
import type { Call } from '../support/scripted-executor.ts';
import { TestClock } from '../support/test-clock.ts';
import { block, workflow } from '../support/workflow.ts';
import { STORE_OPTION_FACTORIES, openEngine, openReader } from './store-options.ts';
import { expectRedacted, REDACTED, TEXT_CHUNKS, SECRET, SECRET_READER_WORKFLOW } from './secret.ts';
import { collect, emissionsIn, summarize } from './talk.ts';

const emit = ({ context }: Call, ...emissions: readonly BlockEmission[]): void => {
  for (const emission of emissions) context.emit(emission);
};
const textEmission = (content: string): BlockEmission => ({ type: 'text', text: content });

/** Ways in which an attempt ends before its text is complete, with the events that follow. */
const INTERRUPTIONS: {
  [title: string]: {
    end: (call: Call, run: RunHandle, clock: TestClock) => Promise<void> | void;
    events: string[];
  };
} = {
  failed: {
    end: async (call) => {
      call.fail(new Error('Broken.'));
      await new Promise(setImmediate);
    },
    events: ['A failed', 'run ended'],
  },
  'timed out': {
    end: (_call, _run, clock) => clock.advance(500),
    events: ['A failed', 'run ended'],
  },
  'been cancelled': {
    end: (_call, run) => run.cancel(),
    events: ['A cancelled', 'run ended'],
  },
};

const STORES = Object.entries(STORE_OPTION_FACTORIES);

describe.each(STORES)('a secret in emitted text, with an engine on %s', (storeName, createStoreOptions) => {
  it('is redacted for every listener, however the text is split into chunks', async () => {
    const storeOptions = await createStoreOptions();
    const scriptedExecutor = new ScriptedExecutor();
    const engine = await openEngine({
      ...storeOptions,
      env: { KEY: SECRET },
      blocks: [scriptedExecutor.executor],
    });
    const run = await engine.start({ workflow: SECRET_READER_WORKFLOW }, {}, { runId: 'r' });
    const collectedEvents = collect(run.events());
    const call = await scriptedExecutor.nextCall('A');
    emit(call, ...TEXT_CHUNKS.map(textEmission));
    call.complete();
    expectRedacted(await collectedEvents);
    expectRedacted(await collect(engine.follow('r')));
    if (storeName !== 'memory') expectRedacted(await collect((await openReader(storeOptions)).follow('r')));
  });

  it.each(Object.entries(INTERRUPTIONS))(
    'is not published in part when the attempt has %s, and the last word is omitted',
    async (_title, { end, events: expected }) => {
      const clock = new TestClock();
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await openEngine({
        ...(await createStoreOptions()),
        ...{ clock, env: { KEY: SECRET }, blocks: [scriptedExecutor.executor] },
      });
      const definition = workflow(
        [block('A', 'work', { key: '{{KEY}}' }, { timeoutMs: 500 })],
        ['Start -> A'],
      );
      const run = await engine.start({ workflow: definition }, {}, { runId: 'r' });
      const collectedEvents = collect(run.events());
      const call = await scriptedExecutor.nextCall('A');
      emit(call, textEmission('say sesame'), { type: 'thinking', text: 'ses' });
      await end(call, run, clock);
      emit(call, textEmission(' too late'));
      const runHandleEvents = (await collectedEvents).filter((event) => event.type !== 'block:started');
      for (const events of [runHandleEvents, await collect(engine.follow('r'))]) {
        expect(summarize(events).slice(-3)).toEqual(['A "say "', ...expected]);
        expect(emissionsIn(events).map(({ number }) => number)).toEqual([1]);
      }
    },
  );

  it('is redacted when a block pauses, and the remaining text arrives before the pause', async () => {
    const pauseResult: BlockResult = { pause: { question: 'Which door?' } };
    const engine = await openEngine({
      ...(await createStoreOptions()),
      env: { KEY: SECRET },
      blocks: [
        {
          types: ['work'],
          class: 'pause',
          execute: (context) => {
            for (const chunk of ['say ', SECRET.slice(0, 6), SECRET.slice(6), '; sesa'])
              context.emit(textEmission(chunk));
            return pauseResult;
          },
          resume: () => ({}),
        },
      ],
    });
    const run = await engine.start({ workflow: SECRET_READER_WORKFLOW }, {}, { runId: 'r' });
    const seenEvents: RunEvent[] = [];
    for await (const event of engine.follow('r')) {
      seenEvents.push(event);
      if (event.type === 'run:paused') break;
    }
    expect(summarize(seenEvents).filter((line) => line.startsWith('A '))).toEqual([
      'A started',
      'A "say "',
      `A ${JSON.stringify(`${REDACTED}; `)}`,
      'A "sesa"',
      'A paused',
    ]);
    await run.cancel();
  });
});
