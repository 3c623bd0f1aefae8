import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createDataFolder } from '../../../../test/support/data-folder.ts';
import { createRecordingIo } from '../../../../test/support/io.ts';
import { UsageError } from '../usage-error.ts';
import { readJsonOption } from './json-source.ts';

async function rejectionOf(value: string, stdin = ''): Promise<UsageError> {
  const error = await readJsonOption(createRecordingIo(stdin), '--input', value).then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(UsageError);
  return error as UsageError;
}

describe('a value that is JSON', () => {
  it('is read inline, from a file, or from standard input', async () => {
    const file = join(createDataFolder(), 'input.json');
    writeFileSync(file, '\uFEFF{"from": "file"}');
    expect(await readJsonOption(createRecordingIo(), '--input', '[1, "two"]')).toEqual([1, 'two']);
    expect(await readJsonOption(createRecordingIo(), '--input', `@${file}`)).toEqual({ from: 'file' });
    expect(await readJsonOption(createRecordingIo('{"from": "stdin"}'), '--input', '-')).toEqual({
      from: 'stdin',
    });
  });
});

describe('a value that is not JSON', () => {
  it('is rejected with a hint about shell quotes', async () => {
    expect((await rejectionOf('{name: 1}')).hint).toContain('single quotes');
    expect((await rejectionOf('hello')).hint).toContain(`--input '"hello"'`);
  });

  it('is rejected if it is empty or missing', async () => {
    expect((await rejectionOf('-', '  ')).message).toBe('Standard input is empty, not JSON.');
    expect((await rejectionOf('@none.json')).message).toBe('There is no file none.json.');
    expect((await rejectionOf('@.')).message).toBe('. is a folder, not a file.');
  });
});
