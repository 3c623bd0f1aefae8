import { createHash } from 'node:crypto';
import { readdirSync, writeFileSync } from 'node:fs';
import { createServer, request } from 'node:http';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { blocks } from '@heddle/blocks';
import type { BlockExecutor, JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { EngineOptions, ExecutorServices } from '@heddle/engine';
import { beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { runHeddle } from '../support/heddle.ts';
import { hasS3, startS3Server } from '../support/s3.ts';
import type { S3Server } from '../support/s3.ts';
import { block, workflow } from '../support/workflow.ts';
import { startServer } from './tool-service.ts';

/** Runs a block with these fields. */
async function run(fields: JsonObject, options: EngineOptions = {}) {
  const engine = await createEngine({ blocks: blocks(), ...options });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  return engine.execute({ workflow: workflow([block('A', 's3', fields)], ['Start -> A']) });
}

/** Returns the number of files and folders of stored values in the data folder. */
function countStoredPaths(data: string): number {
  return readdirSync(join(data, 'values'), { recursive: true }).length;
}

function methodAndHeadersOf({ method, headers }: IncomingMessage) {
  return { method, headers };
}

describe.skipIf(!hasS3)('an S3 block', () => {
  let server: S3Server;
  let options: EngineOptions;
  const runInBucket = (fields: JsonObject) => run({ bucketName: 'first', ...fields }, options);

  beforeAll(async () => {
    server = await startS3Server('first', 'second');
    const { url, accessKeyId, secretAccessKey } = server;
    options = { services: { s3: url }, credentials: { s3: `${accessKeyId}:${secretAccessKey}` } };
  });

  it('stores, returns, copies and deletes objects', async () => {
    const objectKey = "folder/a b+c&d=é'()*!~.json";
    const putResult = await runInBucket({
      operation: 'put_object',
      objectKey,
      content: '{"a": [1]}',
      contentType: 'application/json',
    });
    expect(putResult).toMatchObject({
      status: 'completed',
      output: { metadata: { size: 10, contentType: 'application/json' } },
    });
    expect((await runInBucket({ operation: 'get_object', objectKey })).output).toMatchObject({
      content: { a: [1] },
      metadata: { contentType: 'application/json', size: 10, etag: expect.any(String) as string },
    });
    const copyResult = await runInBucket({
      ...{ operation: 'copy_object', sourceBucket: 'first', sourceKey: objectKey },
      ...{ destinationBucket: 'second', destinationKey: 'copy' },
    });
    expect(copyResult).toMatchObject({
      status: 'completed',
      output: { metadata: { etag: expect.any(String) as string } },
    });
    expect((await run({ s3Uri: 's3://second/copy' }, options)).output).toMatchObject({ content: { a: [1] } });
    for (const s3Uri of [
      'https://second.s3.eu-west-1.amazonaws.com/c%6Fpy',
      'https://s3.amazonaws.com/second/copy',
    ])
      expect((await run({ s3Uri }, options)).output).toMatchObject({ content: { a: [1] } });
    expect((await runInBucket({ operation: 'delete_object', objectKey })).output).toEqual({ deleted: true });
    const { error } = await runInBucket({ objectKey });
    expect(error).toMatchObject({ code: 'SERVICE_FAILED', details: { code: 'NoSuchKey', status: 404 } });
  });

  it('stores bytes, and returns them as bytes', async () => {
    const base64 = Buffer.from([0, 255, 1, 254]).toString('base64');
    const uploadFile = JSON.stringify({ base64, type: 'image/png' });
    await runInBucket({ operation: 'put_object', objectKey: 'picture', uploadFile });
    expect((await runInBucket({ objectKey: 'picture' })).output).toMatchObject({
      content: { type: 'image/png', size: 4, base64 },
    });
  });

  it('stores files in parts, and returns large objects as files, with one part in memory at a time', async () => {
    const MIB = 2 ** 20;
    const data = createDataFolder();
    const target = new URL(server.url);
    const bodySizes: number[] = [];
    let isStored = false;
    // Forwards requests unchanged, so that their signatures stay valid, and counts their bytes.
    const proxy = createServer((incomingRequest, outgoingResponse) => {
      let sentBytes = 0;
      let receivedBytes = 0;
      const forwardedRequest = request(
        {
          host: target.hostname,
          port: target.port,
          path: incomingRequest.url ?? '/',
          ...methodAndHeadersOf(incomingRequest),
        },
        (upstreamResponse) => {
          outgoingResponse.writeHead(upstreamResponse.statusCode ?? 500, upstreamResponse.headers);
          void (async () => {
            for await (const chunk of upstreamResponse as AsyncIterable<Buffer>) {
              receivedBytes += chunk.length;
              outgoingResponse.write(chunk);
              // Sends the rest only after a part is stored, so that the test fails for a client that first reads
              // everything into memory.
              if (receivedBytes > 12 * MIB && incomingRequest.method === 'GET' && !isStored) {
                await vi.waitFor(() => expect(countStoredPaths(data)).toBeGreaterThan(countBefore), {
                  timeout: 20_000,
                });
                isStored = true;
              }
            }
            outgoingResponse.end();
          })();
        },
      );
      incomingRequest.on('data', (chunk: Buffer) => (sentBytes += chunk.length));
      incomingRequest.on('end', () => bodySizes.push(sentBytes));
      incomingRequest.pipe(forwardedRequest);
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => {
      proxy.closeAllConnections();
      proxy.close();
    });
    const { port } = proxy.address() as AddressInfo;
    let hash = '';
    let chunkSizes: number[] = [];
    const testExecutors: BlockExecutor<ExecutorServices>[] = [
      {
        ...{ types: ['make'], class: 'effect' },
        async execute({ services }) {
          async function* chunks() {
            for (let n = 0; n < 20; n++) yield Buffer.alloc(MIB, n);
          }
          const file = await services.storeFile({
            name: 'big.bin',
            type: 'application/x-big',
            chunks: chunks(),
          });
          return { output: { file: { ...file } } };
        },
      },
      {
        ...{ types: ['read'], class: 'effect' },
        async execute(context) {
          const content = await context.services.openFile(context.field('file', 'json') as never);
          const hasher = createHash('sha256');
          chunkSizes = [];
          for await (const chunk of content?.chunks() ?? []) {
            chunkSizes.push(chunk.length);
            hasher.update(chunk);
          }
          hash = hasher.digest('hex');
          return { output: {} };
        },
      },
    ];
    const { accessKeyId, secretAccessKey } = server;
    const engine = await createEngine({
      blocks: [...blocks(), ...(testExecutors as BlockExecutor[])],
      services: { s3: `http://127.0.0.1:${port}` },
      credentials: { s3: `${accessKeyId}:${secretAccessKey}` },
      data,
    });
    onTestFinished(() => engine.close({ graceMs: 0 }));
    const objectFields = { bucketName: 'first', objectKey: 'large/big.bin' };
    const putWorkflow = workflow(
      [
        block('Make', 'make', {}),
        block('Put', 's3', { operation: 'put_object', ...objectFields, uploadFile: '<make.file>' }),
      ],
      ['Start -> Make -> Put'],
    );
    expect(await engine.execute({ workflow: putWorkflow })).toMatchObject({
      status: 'completed',
      output: { metadata: { size: 20 * MIB, contentType: 'application/x-big' } },
    });
    expect(bodySizes.filter((bytes) => bytes > 0).slice(0, 3)).toEqual([8 * MIB, 8 * MIB, 4 * MIB]);
    const countBefore = countStoredPaths(data);
    const getWorkflow = workflow(
      [
        block('Get', 's3', { operation: 'get_object', ...objectFields }),
        block('Read', 'read', { file: '<get.file>' }),
      ],
      ['Start -> Get -> Read'],
    );
    expect(await engine.execute({ workflow: getWorkflow })).toMatchObject({ error: null });
    expect(isStored).toBe(true);
    expect(Math.max(...chunkSizes)).toBeLessThanOrEqual(4 * MIB);
    const expectedHasher = createHash('sha256');
    for (let n = 0; n < 20; n++) expectedHasher.update(Buffer.alloc(MIB, n));
    expect(hash).toBe(expectedHasher.digest('hex'));
  });

  it('lists objects page by page', async () => {
    for (const objectKey of ['list/1', 'list/2', 'list/3'])
      await runInBucket({ operation: 'put_object', objectKey, content: 'x' });
    const listFields = { operation: 'list_objects', prefix: 'list/', maxKeys: '2' };
    const { output } = await runInBucket(listFields);
    expect(output).toMatchObject({ objects: [{ key: 'list/1', size: 1 }, { key: 'list/2' }] });
    const { nextContinuationToken } = output as JsonObject;
    const nextPage = await runInBucket({ ...listFields, continuationToken: nextContinuationToken as string });
    expect(nextPage.output).toMatchObject({ objects: [{ key: 'list/3' }], nextContinuationToken: null });
  });

  it('creates URLs that give access for a limited time and contain no secret', async () => {
    const createPresignedUrl = async (method: string): Promise<string> => {
      const fields = { operation: 'presign_url', objectKey: 'shared', method, expiresIn: 60 };
      const { output } = await runInBucket(fields);
      return (output as { url: string }).url;
    };
    const putResponse = await fetch(await createPresignedUrl('PUT'), { method: 'PUT', body: 'hello' });
    expect(putResponse.status).toBe(200);
    const url = await createPresignedUrl('GET');
    expect(await (await fetch(url)).text()).toBe('hello');
    expect((await fetch(url.replace('shared', 'other'))).status).toBe(403);
    expect(url).toContain('X-Amz-Expires=60');
    expect(url).not.toContain(server.secretAccessKey);
  });

  it('uses the keys and the endpoint in its fields only if the egress policy allows the endpoint', async () => {
    const { accessKeyId, secretAccessKey, url: endpoint } = server;
    const fields = {
      operation: 'list_objects',
      bucketName: 'second',
      accessKeyId,
      secretAccessKey,
      endpoint,
    };
    expect(await run(fields, { egress: { exceptions: [endpoint.slice('http://'.length)] } })).toMatchObject({
      status: 'completed',
    });
    const deniedResult = await run(fields);
    expect(deniedResult.error).toMatchObject({
      code: 'SERVICE_FAILED',
      details: { reason: 'EGRESS_DENIED' },
    });
    const resultWithWrongKey = await run(
      { ...fields, secretAccessKey: 'wrong' },
      { egress: { exceptions: [endpoint.slice(7)] } },
    );
    expect(resultWithWrongKey.error).toMatchObject({
      code: 'SERVICE_FAILED',
      details: { code: 'SignatureDoesNotMatch', status: 403 },
    });
  });
});

describe('the keys of an S3 block', () => {
  it.each<[JsonObject, RegExp]>([
    [{ endpoint: 'http://evil.example' }, /"endpoint" is set without/],
    [{ accessKeyId: 'x' }, /"accessKeyId" is set without/],
    [{ region: 'x.evil.example/' }, /is not a region/],
    [{ accessKeyId: 'x', secretAccessKey: 'y', endpoint: 'http://u:p@evil.example' }, /not a URL/],
  ])('are not sent to another endpoint: %j', async (fields, message) => {
    const blockFields = { operation: 'list_objects', bucketName: 'first', ...fields };
    const { error } = await run(blockFields, { credentials: { s3: 'operator:secret' } });
    expect(error?.code).toBe('BLOCK_CONFIG_INVALID');
    expect(error?.message).toMatch(message);
  });

  it.each(['a', '../x', 'first/x', 'arn:aws:s3:::x', 'first.evil.example/', 'x@y'])(
    'are not used for bucket names that lead to another host: "%s"',
    async (bucketName) => {
      const { error } = await run({ operation: 'list_objects', bucketName }, { credentials: { s3: 'k:s' } });
      expect(error?.code).toBe('TOOL_ARGUMENTS_INVALID');
    },
  );

  it.each([
    's3://b/key',
    's3://UPPER/key',
    'https://evil.example/first/key',
    'https://s3.amazonaws.com.evil.example/first/k',
    's3://first',
  ])('are not used for an invalid object URL: %s', async (s3Uri) => {
    const { error } = await run({ s3Uri }, { credentials: { s3: 'k:s' } });
    expect(error?.code).toBe('TOOL_ARGUMENTS_INVALID');
  });

  it.each<[string, (url: string) => { [name: string]: string }]>([
    [
      'the environment',
      () => ({ AWS_ACCESS_KEY_ID: 'key', AWS_SECRET_ACCESS_KEY: 'secret', AWS_SESSION_TOKEN: 'token' }),
    ],
    ['the metadata service of a container', (url) => ({ AWS_CONTAINER_CREDENTIALS_FULL_URI: `${url}/keys` })],
    ['the metadata service of a machine', (url) => ({ AWS_EC2_METADATA_SERVICE_ENDPOINT: url })],
  ])('are never those of %s', async (_source, environment) => {
    const urls: (string | undefined)[] = [];
    const url = await startServer((request, response) => {
      urls.push(request.url);
      response.end('{}');
    });
    const cwd = createDataFolder();
    const fields = { operation: 'list_objects', bucketName: 'first' };
    const definition = workflow([block('A', 's3', fields)], ['Start -> A']);
    writeFileSync(join(cwd, 'flow.json'), JSON.stringify(definition));
    const args = ['run', 'flow.json', '--json', '--service', `s3=${url}`];
    const { stdout } = await runHeddle(args, { cwd, env: environment(url) });
    expect(urls).toEqual([]);
    expect(JSON.parse(stdout)).toMatchObject({ data: { error: { code: 'CREDENTIAL_UNKNOWN' } } });
  });

  it('are not sent to the target of a redirect', async () => {
    let requestCount = 0;
    const redirectingServer = createServer((_request, response) => {
      requestCount += 1;
      response.writeHead(307, { location: `http://127.0.0.1:${port}/other` }).end();
    });
    await new Promise<void>((resolve) => redirectingServer.listen(0, '127.0.0.1', resolve));
    const { port } = redirectingServer.address() as AddressInfo;
    onTestFinished(() => void redirectingServer.close());
    const services = { s3: `http://127.0.0.1:${port}` };
    const { error } = await run(
      { operation: 'list_objects', bucketName: 'first' },
      { services, credentials: { s3: 'k:s' } },
    );
    expect([requestCount, error?.code]).toEqual([1, 'SERVICE_FAILED']);
  });
});
