import { styleText } from 'node:util';
import { expect, it } from 'vitest';
import { createRecordingIo, RecordingStream } from '../../../../test/support/io.ts';
import { main } from '../main.ts';
import { createTerminalOutput } from '../live/terminal-output.ts';
import { escapeIoOutput, escapeControlCharacters } from './terminal.ts';

const HOSTILE_TEXTS = [
  '\u0007',
  '\u001b]0;title\u0007',
  '\u009b31m',
  '\u0085',
  '\u202e',
  '\u2066',
  '\u061c',
  '\u200f',
  '\b',
  '\u007f',
];

it.each(HOSTILE_TEXTS)('a terminal gets %j as text, and JSON keeps its value', (hostile) => {
  const text = escapeControlCharacters(`a${hostile}b\n`);
  expect(text).toMatch(/^a[ -~]*b\n$/);
  const json = JSON.stringify({ hostile });
  expect(JSON.parse(escapeControlCharacters(json))).toEqual({ hostile });
});

it('a terminal gets the escape sequences of the CLI itself', () => {
  const io = createRecordingIo();
  const stdout = new RecordingStream(true);
  const escapingIo = escapeIoOutput({ ...io, stdout });
  const output = createTerminalOutput(escapingIo.stdout, true);
  output.setStatus(`${styleText(['red', 'bold'], 'line', { validateStream: false })} \u009b2J`);
  output.print(['done \u202e']);
  expect(stdout.text).toBe(
    '\r\u001b[2K\u001b[?7l\u001b[31m\u001b[1mline\u001b[22m\u001b[39m \\u009b2J\u001b[?7h' +
      '\r\u001b[2Kdone \\u202e\n' +
      '\r\u001b[2K\u001b[?7l\u001b[31m\u001b[1mline\u001b[22m\u001b[39m \\u009b2J\u001b[?7h',
  );
  expect(escapingIo.stdout.isTTY).toBe(true);
});

it('all output of a command is escaped: arguments, file names, errors, JSON', async () => {
  for (const args of [
    ['run', 'x\u202e\u009b.json'],
    ['check', 'x\u202e\u009b.json', '--json'],
    ['no\u202e\u009bsuch'],
  ]) {
    const io = createRecordingIo();
    await main(args, io);
    const writtenText = io.stdout.text + io.stderr.text;
    expect(writtenText).not.toMatch(/[\u0080-\u009f\u202e]/);
    expect(writtenText).not.toBe('');
  }
});
