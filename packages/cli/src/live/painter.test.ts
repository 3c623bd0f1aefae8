import { describe, expect, it } from 'vitest';
import { RecordedStream } from '../../../../test/support/io.ts';
import { createPainter } from './painter.ts';

const CLEAR = '\r\u001B[2K';

/** Returns what a terminal of unlimited width shows, line by line. */
function screen(text: string): string[] {
  return text
    .replaceAll(/\u001B\[\?7[lh]/g, '')
    .split('\n')
    .map((line) => line.split(CLEAR).at(-1) ?? '');
}

describe('a painter for a terminal', () => {
  it('keeps the status line below the permanent lines', () => {
    const stream = new RecordedStream(true);
    const painter = createPainter(stream, true);
    painter.status('one');
    painter.print(['first', 'second']);
    painter.status('two');
    expect(screen(stream.text)).toEqual(['first', 'second', 'two']);
  });

  it('clears the status line when it is removed', () => {
    const stream = new RecordedStream(true);
    const painter = createPainter(stream, true);
    painter.status('going');
    painter.status('');
    expect(screen(stream.text)).toEqual(['']);
  });

  it('writes nothing for an unchanged status line', () => {
    const stream = new RecordedStream(true);
    const painter = createPainter(stream, true);
    painter.status('same');
    const textBefore = stream.text;
    painter.status('same');
    painter.print([]);
    expect(stream.text).toBe(textBefore);
  });

  it('disables wrapping for the status line only, so that it stays one line', () => {
    const stream = new RecordedStream(true);
    createPainter(stream, true).status('wide');
    expect(stream.text).toBe(`${CLEAR}\u001B[?7lwide\u001B[?7h`);
  });
});

describe('a painter without a terminal', () => {
  it('writes plain lines only', () => {
    const stream = new RecordedStream();
    const painter = createPainter(stream, false);
    painter.status('going');
    painter.print(['first']);
    painter.status('');
    expect(stream.text).toBe('first\n');
  });
});
