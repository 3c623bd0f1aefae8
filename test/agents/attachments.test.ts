import { blocks } from '@heddle/blocks';
import type { Json, JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { EngineOptions } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startModelServer } from '../support/model-server.ts';
import type { ModelServer } from '../support/model-server.ts';
import { block, workflow } from '../support/workflow.ts';

const PNG = Buffer.from('\x89PNG\r\n\x1A\n0000', 'latin1');
const PDF = Buffer.from('%PDF-1.7\n%%EOF');
const TEXT = Buffer.from('Weft: the thread across.');

interface InputFile {
  name: string;
  bytes: Buffer;
}

async function startModel(): Promise<ModelServer> {
  const server = await startModelServer(() => ({ text: 'I read it.' }));
  onTestFinished(() => server.close());
  return server;
}

/** Runs an agent whose question is `Read this.`, with files of the input. */
async function ask(
  server: ModelServer,
  fields: JsonObject,
  inputFiles: InputFile[] = [],
  options: EngineOptions = {},
) {
  const engine = await createEngine({
    blocks: blocks(),
    services: server.services,
    credentials: { openai: 'key', anthropic: 'key', google: 'key' },
    ...options,
  });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const agent = block('A', 'agent', {
    model: 'gpt-4o',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Read this.' },
    ],
    files: '<start.files>',
    ...fields,
  });
  const source = { workflow: workflow([agent], ['Start -> A']) };
  const files = inputFiles.map(({ name, bytes }) => ({
    type: 'file',
    name,
    data: `data:application/octet-stream;base64,${bytes.toString('base64')}`,
  }));
  const input = await engine.storeFiles(source, { files });
  return { input, engine, source, result: await engine.execute(source, input) };
}

/** Returns the body of a request to the model as a string. */
function requestTextOf({ requests }: ModelServer, number = 1): string {
  return JSON.stringify(requests[number - 1]?.body ?? null);
}

describe.each(['gpt-4o', 'claude-sonnet-4-5', 'gemini-2.5-flash'])(
  'the files of an agent with %s',
  (model) => {
    it('are sent with the question: images, PDF, and text files with their names', async () => {
      const server = await startModel();
      const { result } = await ask(server, { model }, [
        { name: 'loom.png', bytes: PNG },
        { name: 'manual.pdf', bytes: PDF },
        { name: 'words.md', bytes: TEXT },
      ]);
      expect(result).toMatchObject({ status: 'completed', output: { content: 'I read it.' } });
      const body = requestTextOf(server);
      for (const bytes of [PNG, PDF]) expect(body).toContain(bytes.toString('base64'));
      expect(body).toContain(JSON.stringify(`File "words.md":\n${TEXT.toString()}`));
      expect(body.indexOf('Read this.')).toBeLessThan(body.indexOf(PNG.toString('base64')));
    });
  },
);

describe('the files of an agent', () => {
  it.each<[description: string, files: Json]>([
    ['an empty list', []],
    ['an empty list of the input', '<start.files>'],
    ['an empty string', ''],
    ['null', null],
  ])('may be %s', async (_, files) => {
    const server = await startModel();
    const { result } = await ask(server, { files });
    expect(result).toMatchObject({ status: 'completed' });
  });

  it('are not stored with the conversation', async () => {
    const server = await startModel();
    const memoryFields = { model: 'local/scripted', memoryType: 'conversation', conversationId: 'c' };
    const { engine, source } = await ask(server, memoryFields, [{ name: 'words.md', bytes: TEXT }]);
    await engine.execute(source, {});
    expect(requestTextOf(server, 1)).toContain(TEXT.toString());
    expect(requestTextOf(server, 2)).toContain('I read it.');
    expect(requestTextOf(server, 2)).not.toContain(TEXT.toString());
  });

  it('belong to the tenant: a file record of another tenant is refused', async () => {
    const server = await startModel();
    const { engine, source, input } = await ask(server, {}, [{ name: 'words.md', bytes: TEXT }]);
    const [record] = (input as { files: JsonObject[] }).files;
    const foreignInput = { files: [{ ...record, key: `sha256:${'0'.repeat(64)}` }] };
    const { error } = await engine.execute(source, foreignInput);
    expect(error?.message).toContain('has a file "words.md", which is not a file of this workspace');
  });

  it.each<[description: string, fields: JsonObject, inputFiles: InputFile[], message: string]>([
    [
      'bytes in no known format',
      {},
      [{ name: 'a.zip', bytes: Buffer.from('PK\x03\x04\x00\x00') }],
      'has a file "a.zip" that models cannot read',
    ],
    [
      'a text file that is too large',
      {},
      [{ name: 'long.txt', bytes: Buffer.alloc(1_000_001, 'a') }],
      'has a text file "long.txt" of more than 1 MB',
    ],
    [
      'too many files',
      {},
      Array.from({ length: 11 }, (_, index) => ({ name: `${index}.txt`, bytes: Buffer.from(`${index}`) })),
      'has more than 10 files',
    ],
    ['an object that is not a file', { files: { path: '/etc/passwd' } }, [], 'has a file that is neither'],
    ['a file: URL', { files: 'file:///etc/passwd' }, [], 'has a file that is neither'],
  ])('are refused before the model is called: %s', async (_, fields, inputFiles, message) => {
    const server = await startModel();
    const { result } = await ask(server, fields, inputFiles);
    expect(result).toMatchObject({ error: { code: 'BLOCK_CONFIG_INVALID' } });
    expect(result.error?.message).toContain(message);
    expect(server.requests).toEqual([]);
  });
});
