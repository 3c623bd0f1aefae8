import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Json } from '@heddle/core';
import { filesIn, MAX_FILE_BYTES } from '@heddle/core/files';
import { afterAll, describe, expect, it, onTestFinished } from 'vitest';
import { block, loop, workflow } from '../../../../test/support/workflow.ts';
import { createEngine } from '../create.ts';
import type { Engine } from '../types.ts';
import { valueKey } from '../store/value-key.ts';

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://x');
  const redirectUrl = searchParams.get('to');
  const status = redirectUrl === null ? (pathname === '/gone' ? 404 : 200) : 302;
  response.writeHead(
    status,
    redirectUrl === null ? { 'content-type': 'text/csv' } : { location: redirectUrl },
  );
  response.end(pathname === '/large' ? Buffer.alloc(MAX_FILE_BYTES + 1) : 'a,b\n');
});
await new Promise<void>((resolve) => {
  server.listen(0, '127.0.0.1', resolve);
});
const { port } = server.address() as AddressInfo;
const origin = `http://127.0.0.1:${port}`;

const defaultEngine = await createEngine();
const localEngine = await createEngine({ egress: { allowPrivate: ['127.0.0.1/32'], ports: [port, 80] } });
afterAll(async () => {
  server.close();
  await defaultEngine.close();
  await localEngine.close();
});

/** Returns the content of a file for an unrelated run of the same tenant. */
async function contentOf(engine: Engine, file: { id: string; key: string }): Promise<string | undefined> {
  const { runId } = await engine.execute(SOURCE, {});
  return (await engine.fileReader(runId))(file);
}

const SOURCE = {
  workflow: workflow(
    [block('Read', 'response', { dataMode: 'json', data: '{"text": "<start.doc[0].base64>"}' })],
    ['Start -> Read'],
    {
      inputFormat: [
        { name: 'doc', type: 'file[]' },
        { name: 'note', type: 'string' },
      ],
    },
  ),
};

const ABC = { type: 'file', name: 'abc.txt', data: 'data:text/plain;base64,YWJj' };

describe('files of an input', () => {
  it('become records that give access to their contents', async () => {
    const storedInput = await defaultEngine.storeFiles(SOURCE, { doc: [ABC], note: 'x' });
    const [file] = filesIn(storedInput);
    if (!file) throw new Error('There is no file.');
    expect(storedInput).toEqual({ note: 'x', doc: [file] });
    expect(file).toMatchObject({ name: 'abc.txt', size: 3, type: 'text/plain' });
    expect(await contentOf(defaultEngine, file)).toBe('YWJj');
  });

  it('are stored separately even if equal: the key of one file does not reveal the other', async () => {
    const [firstFile, secondFile] = filesIn(await defaultEngine.storeFiles(SOURCE, { doc: [ABC, ABC] }));
    expect(firstFile?.key).not.toBe(secondFile?.key);
    const swappedFile = { id: firstFile?.id ?? '', key: secondFile?.key ?? '' };
    expect(await contentOf(defaultEngine, swappedFile)).toBeUndefined();
    expect(await contentOf(defaultEngine, { id: 'x', key: `sha256:${'0'.repeat(64)}` })).toBeUndefined();
  });

  it('cannot be forged from the key of another stored value', async () => {
    const input = { note: 'x'.repeat(10_000) };
    const { runId } = await defaultEngine.execute(SOURCE, input);
    const key = valueKey(JSON.stringify(input));
    expect(await contentOf(defaultEngine, { id: runId, key })).toBeUndefined();
  });

  it.each<[string, Json, (stored: unknown) => Json]>([
    ['as a single object', { doc: ABC }, (stored) => (stored as { doc: Json }).doc],
    ['as JSON text', { doc: JSON.stringify([ABC]) }, (stored) => (stored as { doc: Json }).doc],
    ['inside `input`', { input: { doc: [ABC] } }, (stored) => (stored as { input: { doc: Json } }).input.doc],
    ['in `files`, which every start has', { files: [ABC] }, (stored) => (stored as { files: Json }).files],
  ])('are accepted %s', async (_description, input, select) => {
    expect(select(await defaultEngine.storeFiles(SOURCE, input))).toEqual([
      expect.objectContaining({ size: 3 }),
    ]);
  });

  it.each<[string, Json]>([
    ['a field of another type', { note: [ABC] }],
    ['an undeclared key', { other: [ABC] }],
    ['items other than files', { doc: [{ type: 'file', name: '', data: 'x' }, 7, { name: 'a', url: 'b' }] }],
    ['a string', { doc: 'not JSON' }],
    ['an array', [ABC]],
    ['nothing', null],
  ])('are not searched for in %s, which stays unchanged', async (_description, input) => {
    expect(await defaultEngine.storeFiles(SOURCE, input)).toEqual(input);
  });

  it('are stored without the items that are not files', async () => {
    const storedInput = await defaultEngine.storeFiles(SOURCE, {
      doc: [{ type: 'folder', name: 'a', data: '' }, ABC, null],
    });
    expect(storedInput).toEqual({ doc: [expect.objectContaining({ name: 'abc.txt' })] });
  });

  it('are not limited by `egress.maxResponseBytes`, which limits the requests of blocks', async () => {
    const engine = await createEngine({
      egress: { allowPrivate: ['127.0.0.1/32'], ports: [port], maxResponseBytes: 3 },
    });
    onTestFinished(() => engine.close());
    const url = `${origin}/table.csv`;
    const storedInput = await engine.storeFiles(SOURCE, { doc: { type: 'url', name: 'a.csv', data: url } });
    expect(filesIn(storedInput)).toMatchObject([{ size: 4 }]);
    const request = workflow([block('Get', 'api', { url })], ['Start -> Get']);
    expect(await engine.execute({ workflow: request }, {})).toMatchObject({
      status: 'failed',
      error: {
        code: 'HTTP_FAILED',
        message: expect.stringContaining('raise maxResponseBytes'),
        details: { reason: 'EGRESS_TOO_LARGE' },
      },
    });
  });

  it('are readable by blocks: `base64` after a record is its content', async () => {
    const storedInput = await defaultEngine.storeFiles(SOURCE, { doc: ABC });
    const { output } = await defaultEngine.execute(SOURCE, storedInput);
    expect(output).toMatchObject({ data: { text: 'YWJj' } });
  });

  it('are readable as items of a loop', async () => {
    const source = {
      workflow: workflow(
        [
          loop(
            'Each',
            { loopType: 'forEach', collection: '<start.doc>' },
            block('One', 'response', { dataMode: 'json', data: '"<loop.currentItem.base64>"' }),
          ),
        ],
        ['Start -> Each', 'Each -> One'],
        { inputFormat: [{ name: 'doc', type: 'file[]' }] },
      ),
    };
    const result = await defaultEngine.execute(source, await defaultEngine.storeFiles(source, { doc: ABC }));
    expect(result.output).toMatchObject({ data: 'YWJj' });
  });
});

describe('a file with inline content', () => {
  it.each<[string, { [key: string]: Json }, string]>([
    ['data that is not a data URL', { data: 'YWJj' }, 'its data is not a data URL'],
    ['a data URL without Base64', { data: 'data:text/plain,abc' }, 'its data is not a data URL'],
    ['wrong Base64', { data: 'data:text/plain;base64,a*b' }, 'its content is not Base64'],
    [
      'padding in the middle',
      { data: `data:text/plain;base64,${'='.repeat(100_000)}YWJj` },
      'its content is not Base64',
    ],
    ['truncated Base64', { data: 'data:text/plain;base64,YWJjY' }, 'its content is not Base64'],
    ['too much content', { data: `data:;base64,${'A'.repeat(28_000_000)}` }, 'it is larger than 20 MB'],
  ])('is refused with its name: %s', async (_description, fields, reason) => {
    const result = defaultEngine.storeFiles(SOURCE, { doc: [{ ...ABC, ...fields }] });
    await expect(result).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringMatching(`^Failed to upload file: abc.txt \\(${reason}`),
    });
  });

  it('may be empty, and may have the maximum size', async () => {
    const fullDataUrl = `data:;base64,${Buffer.alloc(MAX_FILE_BYTES).toString('base64')}`;
    const sentFiles = [
      { ...ABC, data: 'data:text/plain;base64,' },
      { ...ABC, data: fullDataUrl },
    ];
    const files = filesIn(await defaultEngine.storeFiles(SOURCE, { doc: sentFiles }));
    expect(files.map(({ size, type }) => [size, type])).toEqual([
      [0, 'text/plain'],
      [MAX_FILE_BYTES, 'application/octet-stream'],
    ]);
  });

  it('is refused if there are too many files', async () => {
    const doc = Array.from({ length: 51 }, () => ABC);
    await expect(defaultEngine.storeFiles(SOURCE, { doc })).rejects.toMatchObject({
      message: 'The input has 51 files, more than the maximum of 50: send fewer',
    });
  });
});

describe('a file with a URL', () => {
  const createUrlInput = (data: string, fields: { [key: string]: Json } = {}): Json => ({
    doc: { type: 'url', name: 'far.csv', data, ...fields },
  });

  it('is downloaded, with the type from the caller or from the response', async () => {
    const [file] = filesIn(await localEngine.storeFiles(SOURCE, createUrlInput(`${origin}/ok`)));
    expect(file).toMatchObject({ name: 'far.csv', size: 4, type: 'text/csv' });
    expect(
      Buffer.from((await contentOf(localEngine, file ?? { id: '', key: '' })) ?? '', 'base64').toString(),
    ).toBe('a,b\n');
    const inputWithMime = createUrlInput(`${origin}/ok`, { mime: 'text/plain' });
    const filesWithMime = filesIn(await localEngine.storeFiles(SOURCE, inputWithMime));
    expect(filesWithMime[0]?.type).toBe('text/plain');
  });

  it.each([
    ['this machine', origin],
    ['this machine by name', `http://localhost:${port}/`],
    ['metadata of a cloud', 'http://169.254.169.254/latest/meta-data/'],
    ['a private network', 'http://10.0.0.1/'],
    ['a file of the server', 'file:///etc/passwd'],
    ['a string that is not a URL', 'far.csv'],
  ])('is not downloaded from %s', async (_description, source) => {
    await expect(defaultEngine.storeFiles(SOURCE, createUrlInput(source))).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringMatching(/^Failed to upload file: far\.csv \(/),
    });
  });

  it('is not downloaded from a URL that only an egress exception allows, and the refusal names no option', async () => {
    const egress = { exceptions: ['127.0.0.1:*'], hint: 'use --allow-host {target}' };
    const engine = await createEngine({ egress });
    onTestFinished(() => engine.close());
    await expect(engine.storeFiles(SOURCE, createUrlInput(origin))).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.not.stringMatching(/allow-host|exceptions/),
    });
  });

  it.each([
    ['redirects to another network', `?to=${encodeURIComponent('http://169.254.169.254/')}`],
    ['responds that the file does not exist', 'gone'],
    ['sends too much', 'large'],
  ])('is refused when its server %s', async (_description, path) => {
    await expect(localEngine.storeFiles(SOURCE, createUrlInput(`${origin}/${path}`))).rejects.toMatchObject({
      code: 'INPUT_INVALID',
    });
  });

  it('is not downloaded after the caller disconnects', async () => {
    const signal = AbortSignal.abort();
    await expect(localEngine.storeFiles(SOURCE, createUrlInput(origin), { signal })).rejects.toMatchObject({
      code: 'INPUT_INVALID',
    });
  });
});
