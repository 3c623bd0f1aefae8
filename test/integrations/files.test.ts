import { once } from 'node:events';
import { mkdtemp, readdir, rm, stat } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Json, JsonObject } from '@heddle/core';
import { filesIn } from '@heddle/core/files';
import type { RunResource } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { sampledTests } from '../support/scale.ts';
import { TestClock } from '../support/test-clock.ts';
import { block, workflow } from '../support/workflow.ts';
import { startToolService, startServer } from './tool-service.ts';
import type { ToolService } from './tool-service.ts';

const MIB = 2 ** 20;
/** Fields of a tool whose responses of more than 1000 bytes become files. */
const FILE_RESPONSE_TOOL = { answer: { file: { above: 1000 } } };

/** Sends chunks of 1 MiB, as fast as they are read. Calls `onChunk` before each chunk. */
async function sendChunks(
  response: ServerResponse,
  chunkCount: number,
  onChunk: (index: number) => void = () => {},
): Promise<void> {
  const chunk = Buffer.alloc(MIB, 'heddle');
  response.writeHead(200, {
    'content-type': 'application/pdf',
    'content-disposition': 'attachment; filename="a b.pdf"',
  });
  for (let index = 0; index < chunkCount && !response.destroyed; index++) {
    onChunk(index);
    if (!response.write(chunk)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
  }
  response.end();
}

async function createDataFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-files-'));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Returns the used bytes after a garbage collection. */
function measureUsedBytes(): number {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  collectGarbage();
  // The second collection waits for buffers that the first frees in the background.
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function fileIn({ output }: RunResource) {
  const [file] = filesIn(output as Json);
  if (!file) throw new Error('The run has no file.');
  return file;
}

describe('a large response to a tool', () => {
  const sampledIt = sampledTests(1 / 4, 'files of 64 MB');

  sampledIt('becomes a file of 64 MB while less than 40 MB are in memory', async () => {
    const memorySamples: number[] = [];
    const tool = await startToolService(
      FILE_RESPONSE_TOOL,
      (_, response) =>
        void sendChunks(response, 64, (index) => index % 8 === 0 && memorySamples.push(measureUsedBytes())),
      { data: await createDataFolder() },
    );
    const run = await tool.call();
    const file = fileIn(run);
    expect(file).toMatchObject({ name: 'a b.pdf', size: 64 * MIB, type: 'application/pdf' });
    expect(memorySamples).toHaveLength(8);
    expect(Math.max(...memorySamples) - (memorySamples[0] ?? 0)).toBeLessThan(40 * MIB);

    const baseline = measureUsedBytes();
    let [bytes, peak, nextMeasurementAt] = [0, 0, 0];
    const content = await tool.engine.openFile(run.runId, file);
    for await (const chunk of content?.chunks() ?? []) {
      bytes += chunk.length;
      if (bytes >= nextMeasurementAt) {
        peak = Math.max(peak, measureUsedBytes() - baseline);
        nextMeasurementAt = bytes + 4 * MIB;
      }
      expect(Buffer.from(chunk.buffer, chunk.byteOffset, 6).toString()).toHaveLength(6);
    }
    expect(bytes).toBe(64 * MIB);
    expect(peak).toBeLessThan(40 * MIB);
  });

  it('is data if it is small, and a failure is never a file', async () => {
    const smallResponseTool = await startToolService(FILE_RESPONSE_TOOL, (_, response) =>
      response.setHeader('content-type', 'text/plain').end('x'.repeat(1000)),
    );
    expect((await smallResponseTool.call()).output).toMatchObject({ data: 'x'.repeat(1000) });
    const failingTool = await startToolService({ answer: { file: { above: 0 } } }, (_, response) =>
      response.writeHead(400).end(`bad ${'x'.repeat(200_000)}`),
    );
    expect((await failingTool.call()).error?.message).toMatch(/responded with 400: bad x+…$/);
  });

  it.each<[string, JsonObject, object]>([
    ['the limit of its tool', { answer: { file: { above: 1000, maxBytes: 4 * MIB } } }, {}],
    ['the limit of the engine', FILE_RESPONSE_TOOL, { maxFileBytes: { file: 4 * MIB } }],
    ['the limit of the run', FILE_RESPONSE_TOOL, { maxFileBytes: { run: 4 * MIB } }],
  ])('that does not end is cut off at %s, and leaves no stored bytes', async (_title, tool, options) => {
    const folder = await createDataFolder();
    let lastSentIndex = 0;
    const { call } = await startToolService(
      tool,
      (_, response) => void sendChunks(response, 10_000, (index) => (lastSentIndex = index)),
      {
        data: folder,
        ...options,
      },
    );
    const { error } = await call();
    expect(error?.message).toMatch(/more than 4194304 bytes/);
    expect(error?.details).not.toMatchObject({ kind: 'temporary' });
    expect(lastSentIndex).toBeLessThan(40);
    expect(await countStoredBytes(folder)).toBeLessThan(MIB);
  });

  it('counts towards the limit of the run together with its other files', async () => {
    const { engine } = await startToolService(
      FILE_RESPONSE_TOOL,
      (_, response) => void sendChunks(response, 3),
      {
        maxFileBytes: { run: 5 * MIB },
      },
    );
    const toolBlock = (name: string) => block(name, 'tool', { toolId: 'shop_items' });
    const run = await engine.execute({
      workflow: workflow([toolBlock('A'), toolBlock('B')], ['Start -> A', 'A -> B']),
    });
    expect(run.error).toMatchObject({ code: 'FILE_TOO_LARGE', details: { blockName: 'B' } });
  });

  it('cannot be read as one string', async () => {
    const { engine } = await startToolService(
      FILE_RESPONSE_TOOL,
      (_, response) => void sendChunks(response, 21),
    );
    const run = await engine.execute({
      workflow: workflow(
        [
          block('A', 'tool', { toolId: 'shop_items' }),
          block('B', 'function', { code: 'return <a.data.file.base64>' }),
        ],
        ['Start -> A', 'A -> B'],
      ),
    });
    expect(run.error).toMatchObject({ code: 'FILE_TOO_LARGE' });
    expect(run.error?.message).toContain('Pass the file itself to blocks that accept files');
  });

  it('belongs to its tenant only, and cannot be opened by the key of a part', async () => {
    const tool: ToolService = await startToolService(
      FILE_RESPONSE_TOOL,
      (_, response) => void sendChunks(response, 7),
      {
        tenant: (id) => id.split('-', 1)[0],
      },
    );
    const source = (id: string) => ({ workflow: workflow([], [], { id }) });
    const run = await tool.call();
    const file = fileIn(run);
    const otherTenantRun = await tool.engine.execute(source('other-1'));
    const sameTenantRun = await tool.engine.execute(source('test-1'));
    const readFileSize = async (runId: string, key: string) =>
      (await tool.engine.openFile(runId, { ...file, key }))?.bytes;
    expect(await readFileSize(sameTenantRun.runId, file.key)).toBe(7 * MIB);
    expect(await readFileSize(otherTenantRun.runId, file.key)).toBeUndefined();
    expect(await (await tool.engine.fileReader(otherTenantRun.runId))(file)).toBeUndefined();
    for (const key of file.parts ?? []) expect(await readFileSize(sameTenantRun.runId, key)).toBeUndefined();
    expect(file.parts).toHaveLength(3);
  });

  it.skipIf(!hasPostgres)('is stored in PostgreSQL, and counts towards the size of the run', async () => {
    const postgres = { url: await createPostgresDatabase() };
    const { engine, call } = await startToolService(
      FILE_RESPONSE_TOOL,
      (_, response) => void sendChunks(response, 7),
      {
        postgres,
      },
    );
    const run = await call();
    const file = fileIn(run);
    let bytes = 0;
    for await (const chunk of (await engine.openFile(run.runId, file))?.chunks() ?? []) bytes += chunk.length;
    expect([bytes, file.parts?.length]).toEqual([7 * MIB, 3]);
    const sizes = await engine.runSizes([run.runId]);
    expect(sizes.get(run.runId)).toBeGreaterThan(7 * MIB);
  });

  it('is removed with the run', async () => {
    const [folder, clock] = [await createDataFolder(), new TestClock()];
    const { engine, call } = await startToolService(
      FILE_RESPONSE_TOOL,
      (_, response) => void sendChunks(response, 7),
      {
        data: folder,
        clock,
      },
    );
    const { runId } = await call();
    expect(await countStoredBytes(folder)).toBeGreaterThan(7 * MIB);
    // Recently stored values are kept, because a run may be about to use them.
    clock.advance(86_400_000);
    await engine.deleteRun(runId);
    expect(await countStoredBytes(folder)).toBe(0);
  });
});

describe('a file that a tool sends in parts', () => {
  const upload = {
    method: 'POST',
    upload: { type: 'resumable', argument: 'file' },
    arguments: { type: 'object', properties: { file: {} } },
    parameters: [],
  };

  it.each<[string, (otherHost: string) => string | undefined]>([
    ['another host', (otherHost) => `${otherHost}/session`],
    ['the network of the engine', () => 'http://169.254.169.254/latest/meta-data/'],
    ['a URL with a user name', () => 'http://x:y@127.0.0.1/'],
    ['a file: URL', () => 'file:///etc/passwd'],
    ['a missing URL', () => undefined],
  ])('is not sent to %s', async (_title, locationFor) => {
    const foreignRequests: unknown[] = [];
    const otherHost = await startServer((request, response) => {
      foreignRequests.push(request.headers);
      response.end();
    });
    const location = locationFor(otherHost);
    const { call, requests } = await startToolService(
      upload,
      (_, response) => response.writeHead(200, location === undefined ? {} : { location }).end('{}'),
      { egress: { allowPrivate: ['127.0.0.1/32'] } },
    );
    const { error } = await call({ file: 'Hello' });
    expect(error).toMatchObject({ code: 'HTTP_FAILED' });
    expect(error?.message).toMatch(/which is another host|names no URL/);
    expect(requests).toHaveLength(1);
    expect(foreignRequests).toEqual([]);
  });

  it('fails if the service has received other bytes, or expects more than the file', async () => {
    for (const [range, message] of [
      ['bytes=0-2', 'a different part of the file than was sent'],
      ['bytes=0-4', 'expects more than the whole file'],
    ] as const) {
      const { call, requests } = await startToolService(upload, ({ url }, response) =>
        url.pathname === '/api/items'
          ? response.writeHead(200, { location: '/session' }).end()
          : response.writeHead(308, { range }).end(),
      );
      expect((await call({ file: 'Hello' })).error?.message).toContain(message);
      expect(requests).toHaveLength(2);
    }
  });
});

/** Returns the number of bytes in the files of stored values. */
async function countStoredBytes(folder: string): Promise<number> {
  const names = await readdir(join(folder, 'values'), { recursive: true }).catch(() => []);
  const sizes = await Promise.all(
    names.map(async (name) => {
      const stats = await stat(join(folder, 'values', name));
      return stats.isFile() ? stats.size : 0;
    }),
  );
  return sizes.reduce((sum, size) => sum + size, 0);
}
