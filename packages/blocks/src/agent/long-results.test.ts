import { describe, expect, it } from 'vitest';
import { LongResults } from './long-results.ts';

const signal = new AbortController().signal;

describe('results that are too long', () => {
  it('are never cut within a character', () => {
    const longResults = new LongResults(1001, new Map());
    const shownText = longResults.textForModel('1.1', `a${'😀'.repeat(1000)}`);
    expect(shownText.isWellFormed()).toBe(true);
    expect(shownText.length).toBeLessThan(1200);
  });

  it('are read by a tool with a unique name', () => {
    const longResults = new LongResults(1000, new Map([['read_result', {}]]));
    expect(longResults.tool()).toBeUndefined();
    expect(longResults.textForModel('1.1', 'short')).toBe('short');
    expect(longResults.tool()).toBeUndefined();
    expect(longResults.textForModel('1.1', 'x'.repeat(1001))).toContain('read_result_2: {"id": "1.1"');
    expect(longResults.tool()?.definition.name).toBe('read_result_2');
  });

  it('are read in parts that are short enough to be shown', async () => {
    const longResults = new LongResults(1000, new Map());
    longResults.textForModel('1.1', 'x'.repeat(9_999_999));
    const call = {
      idempotencyKey: 'k',
      signal,
      step: 'tool 2.1',
      toolCallId: 'c',
      otherWorkDone: Promise.resolve(),
    };
    const part = await longResults.tool()?.run({ id: '1.1', offset: 5_000_000 }, call);
    expect(longResults.textForModel('2.1', part as string)).toBe(part);
  });
});
