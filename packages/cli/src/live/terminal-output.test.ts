import { describe, expect, it } from 'vitest';
import { RecordingStream } from '../../../../test/support/io.ts';
import { createTerminalOutput } from './terminal-output.ts';

const CLEAR = '\r\u001B[2K';

/** Returns what a terminal of unlimited width shows, line by line. */
function screenLines(text: string): string[] {
  return text
    .replaceAll(/\u001B\[\?7[lh]/g, '')
    .split('\n')
    .map((line) => line.split(CLEAR).at(-1) ?? '');
}

describe('output to a terminal', () => {
  it('keeps the status line below the permanent lines', () => {
    const stream = new RecordingStream(true);
    const output = createTerminalOutput(stream, true);
    output.setStatus('one');
    output.print(['first', 'second']);
    output.setStatus('two');
    expect(screenLines(stream.text)).toEqual(['first', 'second', 'two']);
  });

  it('clears the status line when it is removed', () => {
    const stream = new RecordingStream(true);
    const output = createTerminalOutput(stream, true);
    output.setStatus('going');
    output.setStatus('');
    expect(screenLines(stream.text)).toEqual(['']);
  });

  it('writes nothing for an unchanged status line', () => {
    const stream = new RecordingStream(true);
    const output = createTerminalOutput(stream, true);
    output.setStatus('same');
    const textBefore = stream.text;
    output.setStatus('same');
    output.print([]);
    expect(stream.text).toBe(textBefore);
  });

  it('disables wrapping for the status line only, so that it stays one line', () => {
    const stream = new RecordingStream(true);
    createTerminalOutput(stream, true).setStatus('wide');
    expect(stream.text).toBe(`${CLEAR}\u001B[?7lwide\u001B[?7h`);
  });
});

describe('output without a terminal', () => {
  it('writes plain lines only', () => {
    const stream = new RecordingStream();
    const output = createTerminalOutput(stream, false);
    output.setStatus('going');
    output.print(['first']);
    output.setStatus('');
    expect(stream.text).toBe('first\n');
  });
});
