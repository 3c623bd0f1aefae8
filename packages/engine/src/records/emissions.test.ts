import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { BlockEmission } from '@heddle/core/blocks';
import type { RunState } from '@heddle/core/run';
import { TestClock } from '../../../../test/support/test-clock.ts';
import { createRedactor, NO_SECRETS } from '../secrets/redactor.ts';
import type { Redactor } from '../secrets/redactor.ts';
import { MemoryValueStore } from '../store/memory.ts';
import { Sanitizer } from './sanitizer.ts';
import { Values } from './values.ts';
import type { LiveEventStore, NewLiveEvent } from '../store/live-events.ts';
import { MemoryLiveEvents } from '../store/memory-live-events.ts';
import type { RunEvent } from '../types.ts';
import { Emissions, MAX_EMITTED_CHARS } from './emissions.ts';
import type { StoredEmission } from './emissions.ts';

const PLACE = { block: 'T', scope: [] };
const runState = { runId: 'r', seq: 3, plan: { blocks: {} } } as unknown as RunState;
const createSanitizer = (redactor: Redactor) => new Sanitizer(new Values(new MemoryValueStore()), redactor);
const text = (value: string): BlockEmission => ({ type: 'text', text: value });

function openEmissions(store: LiveEventStore, { isNew = true, redactor = NO_SECRETS, run = runState } = {}) {
  const errors: unknown[] = [];
  const events: RunEvent[] = [];
  const emissions = new Emissions({
    runState: run,
    store,
    clock: new TestClock(),
    sanitizer: createSanitizer(redactor),
    isNew,
    onPublished: (event) => events.push(event),
    onError: (error) => errors.push(error),
  });
  return { emissions, errors, events };
}

function readEmissions(store: MemoryLiveEvents): BlockEmission[] {
  return store.read('r', 0, 20_000).map(({ json }) => (JSON.parse(json) as StoredEmission).emission);
}

/** A store whose writes complete when the test allows it. */
class SlowStore extends MemoryLiveEvents {
  override readonly batchMs = 0;
  readonly writes: { events: readonly NewLiveEvent[]; settle: (error?: Error) => void }[] = [];

  constructor() {
    super(new TestClock());
  }

  override publish(runId: string, events: readonly NewLiveEvent[]): number {
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const settle = (error?: Error): void => (error ? reject(error) : resolve(super.publish(runId, events)));
    this.writes.push({ events, settle });
    return promise as unknown as number;
  }
}

describe('emissions', () => {
  it('of an attempt that repeats another one are preceded by a reset, even if that was in another process', () => {
    const store = new MemoryLiveEvents(new TestClock());
    const { emissions } = openEmissions(store);
    emissions.add(PLACE, text('a'), true);
    emissions.add(PLACE, text('b'), false);
    emissions.add(PLACE, text('c'), true);
    openEmissions(store, { isNew: false }).emissions.add(PLACE, text('d'), true);
    emissions.add({ block: 'U', scope: [0] }, text('e'), true);
    expect(readEmissions(store)).toEqual([
      text('a'),
      text('b'),
      { type: 'reset' },
      text('c'),
      { type: 'reset' },
      text('d'),
      text('e'),
    ]);
  });

  it('are collected while the store writes, and the result of the block waits for them', async () => {
    const store = new SlowStore();
    const { emissions, events } = openEmissions(store);
    expect(emissions.flush()).toBeUndefined();
    for (const word of ['a', 'b', 'c']) emissions.add(PLACE, text(word), word === 'a');
    expect(store.writes.map((write) => write.events.length)).toEqual([1]);
    let flushed = false;
    const flushing = emissions.flush()?.then(() => (flushed = true));
    store.writes[0]?.settle();
    await expect.poll(() => store.writes.length).toBe(2);
    expect(flushed).toBe(false);
    store.writes[1]?.settle();
    await flushing;
    expect(store.writes.map((write) => write.events.length)).toEqual([1, 2]);
    expect(events).toMatchObject([
      { number: 1, emission: text('a') },
      { number: 2, emission: text('b') },
      { number: 3, emission: text('c') },
    ]);
  });

  it('that cannot be stored are lost without an exception: the loss is reported once and shown by an event', async () => {
    const store = new SlowStore();
    const { emissions, errors } = openEmissions(store);
    const fail = async (index: number): Promise<void> => {
      emissions.add(PLACE, text(String(index)), index === 0);
      store.writes[index]?.settle(new Error('Disk full.'));
      await new Promise(setImmediate);
    };
    await fail(0);
    await fail(1);
    emissions.add(PLACE, text('kept'), false);
    store.writes[2]?.settle();
    await new Promise(setImmediate);
    expect(errors).toEqual([new Error('Disk full.')]);
    expect(readEmissions(store)).toEqual([
      { type: 'error', message: expect.stringContaining('lost') as string },
      text('kept'),
    ]);
  });

  it('are dropped if too many are waiting for a slow store', async () => {
    const store = new SlowStore();
    const { emissions } = openEmissions(store);
    for (let index = 0; index < 5000; index++) emissions.add(PLACE, text('x'), index === 0);
    store.writes[0]?.settle();
    await expect.poll(() => emissions.flush() && store.writes.length).toBe(2);
    store.writes[1]?.settle();
    await emissions.flush();
    expect(readEmissions(store)).toHaveLength(1 + 2000 + 1);
  });

  it('have limited sizes: a long text is split into parts of whole characters', () => {
    fc.assert(
      fc.property(fc.nat(3), fc.constantFrom('😀', 'ab'), (offset, unit) => {
        const store = new MemoryLiveEvents(new TestClock());
        const longText = 'x'.repeat(offset) + unit.repeat(20_000);
        openEmissions(store).emissions.add(PLACE, text(longText), true);
        const chunks = readEmissions(store).map((emission) =>
          emission.type === 'text' ? emission.text : '',
        );
        expect(chunks.join('')).toBe(longText);
        for (const chunk of chunks) {
          expect(chunk.length).toBeLessThanOrEqual(MAX_EMITTED_CHARS);
          expect(chunk.isWellFormed()).toBe(true);
        }
      }),
      { numRuns: 8 },
    );
    const store = new MemoryLiveEvents(new TestClock());
    const { emissions } = openEmissions(store);
    emissions.add(PLACE, { type: 'tool', phase: 'start', id: 'i'.repeat(9000), name: 'n' }, true);
    expect(readEmissions(store)).toEqual([{ type: 'tool', phase: 'start', id: 'i'.repeat(200), name: 'n' }]);
    const otherStore = new MemoryLiveEvents(new TestClock());
    const progress = { type: 'progress' as const, progress: 1 };
    const longProgress = { ...progress, id: 'i'.repeat(9000), message: 'm'.repeat(90_000) };
    openEmissions(otherStore).emissions.add(PLACE, longProgress, true);
    expect(readEmissions(otherStore)).toEqual([
      { ...progress, id: 'i'.repeat(200), message: 'm'.repeat(MAX_EMITTED_CHARS) },
    ]);
  });

  it('of several processes have consecutive numbers, and result in the text of the last attempt at each place', () => {
    const attempt = fc.record({
      process: fc.nat(2),
      place: fc.constantFrom('T', 'U'),
      words: fc.array(fc.string({ minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 }),
    });
    fc.assert(
      fc.property(fc.array(attempt, { maxLength: 12 }), (attempts) => {
        const store = new MemoryLiveEvents(new TestClock());
        const lastTexts: { [place: string]: string } = {};
        const processes = new Map<number, Emissions>();
        for (const { process, place, words } of attempts) {
          // Each attempt is in a process that takes over the run.
          const emissions = openEmissions(store, { isNew: processes.size === 0 }).emissions;
          processes.set(process, emissions);
          for (const [index, word] of words.entries())
            emissions.add({ block: place, scope: [] }, text(word), index === 0);
          lastTexts[place] = words.join('');
        }
        const texts: { [place: string]: string } = {};
        const events = store.read('r', 0, 1000);
        for (const { json } of events) {
          const { block, emission } = JSON.parse(json) as StoredEmission;
          if (emission.type === 'reset') texts[block] = '';
          if (emission.type === 'text') texts[block] = (texts[block] ?? '') + emission.text;
        }
        expect(texts).toEqual(lastTexts);
        expect(events.map(({ number }) => number)).toEqual(events.map((_, index) => index + 1));
      }),
      { numRuns: 50 },
    );
  });
});

describe('emitted texts with a secret', () => {
  const thinking = (value: string): BlockEmission => ({ type: 'thinking', text: value });
  const tool: BlockEmission = { type: 'tool', phase: 'start', id: '1', name: 'search' };
  const reset: BlockEmission = { type: 'reset' };
  const redactor = createRedactor({ KEY: 'sesame-open' });
  const REDACTED = '«redacted:KEY»';
  const COMPLETE = { isInterrupted: false };

  /** Emits in one attempt at PLACE. */
  function emit(emissions: Emissions, ...blockEmissions: readonly BlockEmission[]): void {
    for (const [index, emission] of blockEmissions.entries()) emissions.add(PLACE, emission, index === 0);
  }

  it('are redacted across their parts, by kind and place, even with other emissions in between', () => {
    const store = new MemoryLiveEvents(new TestClock());
    const { emissions } = openEmissions(store, { redactor });
    const otherPlace = { block: 'T', scope: [1] };
    emit(emissions, text('- ses'), thinking('? sesame'), tool, text('ame'));
    emissions.add(otherPlace, text('ame-open'), true);
    emissions.add(PLACE, text('-open!'), false);
    emissions.add(PLACE, thinking('-open'), false);
    const earlierEmissions = [text('- '), thinking('? '), tool];
    expect(readEmissions(store)).toEqual(earlierEmissions);
    for (const place of [PLACE, otherPlace]) emissions.end(place, COMPLETE);
    expect(readEmissions(store)).toEqual([
      ...earlierEmissions,
      text(`${REDACTED}!`),
      thinking(REDACTED),
      text('ame-open'),
    ]);
  });

  it('end with the held-back text, before the result of the block', () => {
    const store = new MemoryLiveEvents(new TestClock());
    const { emissions } = openEmissions(store, { redactor });
    emit(emissions, text('- sesame'), thinking('ses'));
    emissions.end(PLACE, COMPLETE);
    expect(emissions.flush()).toBeUndefined();
    expect(readEmissions(store)).toEqual([text('- '), text('sesame'), thinking('ses')]);
    emissions.add(PLACE, text('too late'), false);
    emissions.end(PLACE, COMPLETE);
    expect(readEmissions(store)).toHaveLength(3);
  });

  it('lose their last word if they were cut off: it may be the beginning of a secret', () => {
    const store = new MemoryLiveEvents(new TestClock());
    const { emissions } = openEmissions(store, { redactor });
    emit(emissions, text('- sesame'), thinking('ses'));
    emissions.end(PLACE, { isInterrupted: true });
    expect(readEmissions(store)).toEqual([text('- ')]);
  });

  it('lose the held-back text at a reset, but keep reasoning', () => {
    const store = new MemoryLiveEvents(new TestClock());
    const { emissions } = openEmissions(store, { redactor });
    emit(emissions, text('- ses'), thinking('sesame'), reset, text('ame-open'), thinking('-open'));
    emissions.end(PLACE, COMPLETE);
    expect(readEmissions(store)).toEqual([text('- '), reset, thinking(REDACTED), text('ame-open')]);
  });

  it('reset an earlier attempt with the first published part, and lose its held-back text', () => {
    const store = new MemoryLiveEvents(new TestClock());
    const { emissions, events } = openEmissions(store, { redactor });
    emit(emissions, text('- ses'));
    emit(emissions, text('s'), text('esame'), text('-open'));
    emit(emissions, text('sesam'));
    emissions.end(PLACE, COMPLETE);
    expect(readEmissions(store)).toEqual([text('- '), reset, text('sesam')]);
    expect(events).toMatchObject([1, 2, 3].map((number) => ({ number })));
  });

  it('have the time of their emission, even if they are published at the end of the block', () => {
    const store = new MemoryLiveEvents(new TestClock());
    const changingRunState = { runId: 'r', seq: 3, plan: { blocks: {} } } as unknown as RunState;
    const { emissions } = openEmissions(store, { redactor, run: changingRunState });
    emit(emissions, text('ses'));
    Object.assign(changingRunState, { seq: 4 });
    emissions.end(PLACE, COMPLETE);
    expect(JSON.parse(store.read('r', 0, 1)[0]?.json ?? '')).toMatchObject({ seq: 3, emission: text('ses') });
  });

  it('are redacted like the whole text, however it is divided into parts', () => {
    const part = fc.constantFrom('ses', 'ame', '-', 'open', 'c2Vz', 'YW1lLW9wZW4', ' ', 'x');
    fc.assert(
      fc.property(fc.array(fc.tuple(fc.boolean(), part), { minLength: 1, maxLength: 30 }), (parts) => {
        const store = new MemoryLiveEvents(new TestClock());
        const { emissions } = openEmissions(store, { redactor });
        emit(emissions, ...parts.map(([isText, value]) => (isText ? text(value) : thinking(value))));
        emissions.end(PLACE, COMPLETE);
        const joinTexts = (blockEmissions: readonly BlockEmission[], type: string): string =>
          blockEmissions
            .flatMap((emission) => (emission.type === type && 'text' in emission ? [emission.text] : []))
            .join('');
        for (const type of ['text', 'thinking']) {
          const wholeText = parts
            .map(([isText, value]) => (isText === (type === 'text') ? value : ''))
            .join('');
          expect(joinTexts(readEmissions(store), type)).toBe(redactor.redactText(wholeText));
        }
      }),
    );
  });
});
