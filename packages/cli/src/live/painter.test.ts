import { describe, expect, it } from 'vitest';
import { Kept } from '../../../../test/support/io.ts';
import { createPainter } from './painter.ts';

const CLEAR = '\r\u001B[2K';

/** What a terminal of unlimited width shows, line by line. */
function screen(text: string): string[] {
  return text
    .replaceAll(/\u001B\[\?7[lh]/g, '')
    .split('\n')
    .map((line) => line.split(CLEAR).at(-1) ?? '');
}

describe('a painter for a terminal', () => {
  it('keeps the changing line below the lines that stay', () => {
    const stream = new Kept(true);
    const painter = createPainter(stream, true);
    painter.status('one');
    painter.print(['first', 'second']);
    painter.status('two');
    expect(screen(stream.text)).toEqual(['first', 'second', 'two']);
  });

  it('leaves nothing of the changing line when it is taken away', () => {
    const stream = new Kept(true);
    const painter = createPainter(stream, true);
    painter.status('going');
    painter.status('');
    expect(screen(stream.text)).toEqual(['']);
  });

  it('writes nothing when nothing has changed', () => {
    const stream = new Kept(true);
    const painter = createPainter(stream, true);
    painter.status('same');
    const before = stream.text;
    painter.status('same');
    painter.print([]);
    expect(stream.text).toBe(before);
  });

  it('turns wrapping off for the changing line only, so that it stays one line', () => {
    const stream = new Kept(true);
    createPainter(stream, true).status('wide');
    expect(stream.text).toBe(`${CLEAR}\u001B[?7lwide\u001B[?7h`);
  });
});

describe('a painter for anything else', () => {
  it('writes plain lines only', () => {
    const stream = new Kept();
    const painter = createPainter(stream, false);
    painter.status('going');
    painter.print(['first']);
    painter.status('');
    expect(stream.text).toBe('first\n');
  });
});
