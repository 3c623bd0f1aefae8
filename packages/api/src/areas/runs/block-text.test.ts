import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { BlockText } from './block-text.ts';
import type { TextEvent } from './block-text.ts';

/** Ends a scope as `OutputEvents` does. */
function end(text: BlockText, scope: string, content: string, values: readonly string[] = []): TextEvent[] {
  const isTextSent = text.hasSent(scope, content);
  return [...text.end(scope, isTextSent ? values : [content, ...values], { isTextSent })];
}

const chunk = (text: string): TextEvent => ({ chunk: text });
const RESET: TextEvent = { event: 'chunk_reset' };

describe('the text of a block', () => {
  it('is sent as it arrives, one iteration after another, each once', () => {
    const text = new BlockText();
    const events = ['0', '1'].flatMap((scope) => [
      ...text.add(scope, 'Good '),
      ...text.add(scope, `day ${scope}`),
      ...end(text, scope, `Good day ${scope}`, ['2']),
    ]);
    expect(events).toEqual(['Good ', 'day 0', '2', 'Good ', 'day 1', '2'].map(chunk));
  });

  it('of parallel branches is not mixed: the text of other branches waits until the first branch ends', () => {
    const text = new BlockText();
    expect([...text.add('0', 'He'), ...text.add('1', 'Bo'), ...text.add('2', 'An')]).toEqual([chunk('He')]);
    expect(end(text, '1', 'Bo')).toEqual([]);
    expect([...text.add('0', 'llo')]).toEqual([chunk('llo')]);
    expect(end(text, '0', 'Hello')).toEqual([chunk('Bo')]);
    expect([...text.add('2', 'na')]).toEqual([chunk('Anna')]);
    expect(end(text, '2', 'Anna')).toEqual([]);
  });

  it('of iterations that ended is sent again after the text of a later one is discarded', () => {
    const text = new BlockText();
    expect([...text.add('0', 'one'), ...end(text, '0', 'one'), ...text.add('1', 'Let me see')]).toEqual(
      ['one', 'Let me see'].map(chunk),
    );
    expect([...text.reset('1')]).toEqual([RESET, chunk('one')]);
    // From now on text is sent only when an iteration ends, so nothing has to be discarded.
    expect([...text.add('1', 'two'), ...text.reset('1'), ...text.add('1', 'two')]).toEqual([]);
    expect(end(text, '1', 'two')).toEqual([chunk('two')]);
  });

  it('is not discarded if an iteration whose text has not been sent is reset', () => {
    const text = new BlockText();
    expect([...text.add('0', 'one'), ...text.add('1', 'Hm'), ...text.reset('1')]).toEqual([chunk('one')]);
    expect([...end(text, '0', 'one'), ...text.add('1', 'two')]).toEqual([chunk('two')]);
  });

  it('is sent only at the end of an iteration once a reset would repeat too much text', () => {
    const text = new BlockText();
    const longText = 'x'.repeat(300_000);
    expect([...text.add('0', longText), ...end(text, '0', longText)]).toEqual([chunk(longText)]);
    expect([...text.add('1', 'two'), ...text.reset('1')]).toEqual([]);
    expect(end(text, '1', 'two')).toEqual([chunk('two')]);
  });

  it('gives the client each value exactly once, in any order of events', () => {
    const scope = fc.constantFrom('0', '1', '2', '3');
    const step = fc.tuple(scope, fc.constantFrom('add', 'add', 'add', 'reset', 'end', 'fail'));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 40 }), fc.boolean(), (steps, valuesDiffer) => {
        const text = new BlockText();
        const texts: { [scope: string]: string } = {};
        const endedValues: string[] = [];
        const events: TextEvent[] = [];
        for (const [index, [key, kind]] of steps.entries()) {
          if (kind === 'add') {
            const addedText = `<${index}>`;
            texts[key] = (texts[key] ?? '') + addedText;
            events.push(...text.add(key, addedText));
          } else if (kind === 'end') {
            const content = valuesDiffer && index % 3 === 0 ? `[${index}]` : (texts[key] ?? `[${index}]`);
            delete texts[key];
            endedValues.push(content);
            events.push(...end(text, key, content));
          } else {
            delete texts[key];
            events.push(...text.reset(key));
          }
        }
        for (const key of Object.keys(texts)) events.push(...text.reset(key));
        events.push(...text.flush());
        let clientText = '';
        for (const event of events) clientText = 'chunk' in event ? clientText + event.chunk : '';
        for (const value of endedValues) expect(clientText).toContain(value);
        expect(clientText).toHaveLength(endedValues.join('').length);
        expect(events.length).toBeLessThanOrEqual(3 * steps.length + 1);
      }),
    );
  });
});
