import { blocks } from '@heddle/blocks';
import type { Json, JsonObject } from '@heddle/core';
import { filesIn } from '@heddle/core/files';
import { createEngine } from '@heddle/engine';
import type { Engine, EngineOptions, RunResource } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { TestClock } from '../support/test-clock.ts';
import { block, workflow } from '../support/workflow.ts';
import { startServices } from './services.ts';
import type { Services } from './services.ts';

interface Drive extends Services {
  engine: Engine;
}

async function startDrive(options: EngineOptions = {}): Promise<Drive> {
  const services = await startServices();
  const engine = await createEngine({
    blocks: blocks(),
    services: services.baseUrls,
    credentials: { google_drive: 'token-of-google_drive' },
    ...options,
  });
  onTestFinished(async () => {
    await engine.close({ graceMs: 0 });
    await services.close();
  });
  return { ...services, engine };
}

const INPUT_OPTIONS = { inputFormat: [{ name: 'doc', type: 'file[]' }] };

/** Runs a block of Google Drive. */
async function call({ engine }: Drive, fields: JsonObject, doc?: Json) {
  const source = { workflow: workflow([block('A', 'google_drive', fields)], ['Start -> A'], INPUT_OPTIONS) };
  const input = doc === undefined ? {} : await engine.storeFiles(source, { doc });
  return engine.execute(source, input);
}

const fileOf = (bytes: Buffer, type = 'application/octet-stream'): Json => ({
  type: 'file',
  name: 'data.bin',
  data: `data:${type};base64,${bytes.toString('base64')}`,
});

const MIB = 2 ** 20;
/** More than two parts, the last one with an odd size. */
const LARGE_CONTENT = Buffer.alloc(7 * MIB + 123, 'heddle');

/** Returns the first file in the output of a run, and its content. */
async function readFirstFile({ engine }: Drive, { runId, output, error }: RunResource) {
  const [file] = filesIn(output as Json);
  if (!file) throw new Error(`The output has no file: ${JSON.stringify(error).slice(0, 500)}`);
  const content = await engine.openFile(runId, file);
  const chunks: Uint8Array[] = [];
  for await (const chunk of content?.chunks() ?? []) chunks.push(chunk);
  return { file, bytes: Buffer.concat(chunks) };
}

describe('a file that a block stores in Google Drive', () => {
  it('is sent in parts, each with its byte range and without the credential', async () => {
    const drive = await startDrive();
    const fields = { operation: 'upload', file: '<start.doc>', folderId: 'folder-1' };
    const result = await call(drive, fields, fileOf(LARGE_CONTENT));
    expect(result).toMatchObject({
      status: 'completed',
      output: { name: 'data.bin', size: String(LARGE_CONTENT.length), parents: ['folder-1'] },
    });
    const [startRequest, ...parts] = drive.requests;
    expect(startRequest?.body).toEqual({ name: 'data.bin', parents: ['folder-1'] });
    expect(startRequest?.headers['x-upload-content-length']).toBe(String(LARGE_CONTENT.length));
    expect(parts.map(({ headers }) => headers['content-range'])).toEqual([
      `bytes 0-${3 * MIB - 1}/${LARGE_CONTENT.length}`,
      `bytes ${3 * MIB}-${6 * MIB - 1}/${LARGE_CONTENT.length}`,
      `bytes ${6 * MIB}-${LARGE_CONTENT.length - 1}/${LARGE_CONTENT.length}`,
    ]);
    expect(parts.map(({ headers }) => headers.authorization)).toEqual([undefined, undefined, undefined]);
    expect(Buffer.concat(parts.map(({ bytes }) => bytes)).equals(LARGE_CONTENT)).toBe(true);
  });

  it.each([
    ['a string', { content: 'Hello', fileName: 'hello.txt' }, 'hello.txt', 'Hello'],
    ['an empty file', { file: { base64: '', name: 'empty' } }, 'empty', ''],
  ])('can be %s', async (_title, fields, name, content) => {
    const drive = await startDrive();
    const result = await call(drive, { operation: 'upload', ...fields });
    expect(result).toMatchObject({ status: 'completed', output: { name } });
    expect(drive.requests.at(-1)?.bytes.toString()).toBe(content);
  });

  it.each([
    ['before the service has a part', 'rate limit'],
    ['after the service has a part', 'lost response'],
  ] as const)('is stored completely even if a request fails %s', async (_title, fault) => {
    const clock = new TestClock();
    const drive = await startDrive({ clock });
    // The first request starts the upload session.
    if (fault === 'lost response') drive.dropNextResponses('google_drive', 1, 2);
    else drive.rateLimitNext('google_drive', 1, 2);
    const resultPromise = call(drive, { operation: 'upload', file: '<start.doc>' }, fileOf(LARGE_CONTENT));
    if (fault === 'rate limit') {
      await clock.waitForTimer(1000);
      clock.advance(1000);
    }
    const { output } = await resultPromise;
    const { id } = output as { id: string };
    const storedFile = await readFirstFile(drive, await call(drive, { operation: 'download', fileId: id }));
    expect(storedFile.bytes.equals(LARGE_CONTENT)).toBe(true);
  });

  it('cannot be a file of another workspace', async () => {
    const drive = await startDrive({ tenant: (id) => id.split('-', 1)[0] });
    const source = (id: string) => ({
      workflow: workflow(
        [block('A', 'google_drive', { operation: 'upload', file: '<start.doc>' })],
        ['Start -> A'],
        { id, ...INPUT_OPTIONS },
      ),
    });
    const otherTenantInput = await drive.engine.storeFiles(source('other-1'), {
      doc: fileOf(Buffer.from('secret')),
    });
    const result = await drive.engine.execute(source('mine-1'), otherTenantInput);
    expect(result).toMatchObject({ status: 'failed', error: { code: 'TOOL_ARGUMENTS_INVALID' } });
    expect(drive.requests).toEqual([]);
  });
});

describe('a file that a block reads from Google Drive', () => {
  it('becomes a run file', async () => {
    const drive = await startDrive();
    await call(drive, { operation: 'upload', file: '<start.doc>' }, fileOf(LARGE_CONTENT, 'image/png'));
    const result = await call(drive, { operation: 'download', fileId: 'file-4', fileName: '../big.png' });
    const { file, bytes } = await readFirstFile(drive, result);
    expect(file).toMatchObject({ name: 'big.png', size: LARGE_CONTENT.length, type: 'image/png' });
    expect(bytes.equals(LARGE_CONTENT)).toBe(true);
    expect(JSON.stringify(result).length).toBeLessThan(3000);
  });

  it('is exported if it is a document', async () => {
    const drive = await startDrive();
    const fields = { operation: 'export', fileId: 'file-1', mimeType: 'application/pdf' };
    const { file, bytes } = await readFirstFile(drive, await call(drive, fields));
    expect(file).toMatchObject({ type: 'application/pdf' });
    expect(bytes.toString()).toBe('# Notes');
  });

  it('is listed even if it is on a later page of the list', async () => {
    const drive = await startDrive();
    const { output } = await call(drive, { operation: 'list', pageSize: 2 });
    expect((output as { files: object[] }).files).toHaveLength(3);
    expect(drive.requests.map(({ query }) => query.get('pageToken'))).toEqual([null, 'page-2']);
  });

  it.each<[string, JsonObject, string, RegExp]>([
    ['it does not exist', { operation: 'download', fileId: 'x' }, 'not_found', /404: File not found: x/],
    [
      'it is a document',
      { operation: 'download', fileId: 'file-1' },
      'invalid',
      /403: Only files with binary content/,
    ],
    [
      'the format is unknown',
      { operation: 'export', fileId: 'file-1', mimeType: 'text/x' },
      'invalid',
      /400: The requested conversion/,
    ],
  ])('is refused with the reason if %s', async (_title, fields, kind, message) => {
    const { error } = await call(await startDrive(), fields);
    expect(error).toMatchObject({ code: 'HTTP_FAILED', details: { kind } });
    expect(error?.message).toMatch(message);
  });

  it('is refused without a valid credential, and can be deleted once', async () => {
    const driveWithWrongToken = await startDrive({ credentials: { google_drive: 'wrong-token' } });
    const { error } = await call(driveWithWrongToken, { operation: 'get_file', fileId: 'file-1' });
    expect(error).toMatchObject({ details: { status: 401, kind: 'auth' } });
    const drive = await startDrive();
    expect(await call(drive, { operation: 'delete', fileId: 'file-1' })).toMatchObject({
      status: 'completed',
    });
    expect(await call(drive, { operation: 'delete', fileId: 'file-1' })).toMatchObject({
      error: { details: { kind: 'not_found' } },
    });
  });

  it('is requested again after a rate limit with status 403', async () => {
    const clock = new TestClock();
    const drive = await startDrive({ clock });
    drive.rateLimitNext('google_drive', 1);
    const resultPromise = call(drive, { operation: 'create_folder', fileName: 'New' });
    await clock.waitForTimer(1000);
    clock.advance(1000);
    expect(await resultPromise).toMatchObject({ status: 'completed', output: { name: 'New' } });
    expect(drive.requests).toHaveLength(2);
  });
});
