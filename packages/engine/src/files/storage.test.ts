import type { Json } from '@heddle/core';
import { filesIn } from '@heddle/core/files';
import type { FileRecord } from '@heddle/core/files';
import { describe, expect, it, onTestFinished } from 'vitest';
import { block, workflow } from '../../../../test/support/workflow.ts';
import { createEngineOn } from '../create.ts';
import { builtInExecutors } from '../executors/built-ins.ts';
import { createRegistry } from '../executors/registry.ts';
import { openStores } from '../store/open.ts';

const DOC = { inputFormat: [{ name: 'doc', type: 'file[]' }] };
const ABC = { type: 'file', name: 'abc.txt', data: 'data:text/plain;base64,YWJj' };
const READ_BLOCK = block('Read', 'response', { dataMode: 'json', data: '{"text": "<start.doc[0].base64>"}' });

const createReadWorkflow = (id: string): Json =>
  workflow([READ_BLOCK], ['Start -> Read'], { id, name: id, ...DOC });

/** Returns an engine and its value store. The id of a workflow begins with its tenant. */
async function openEngine() {
  const stores = openStores({});
  const { values } = stores;
  const readKeys: string[] = [];
  const recordingValues = {
    put: (json: string) => values.put(json),
    get: (key: string) => {
      readKeys.push(key);
      return values.get(key);
    },
    prune: (keys: readonly string[], unusedMs: number) => values.prune(keys, unusedMs),
  };
  const engine = await createEngineOn(
    { ...stores, values: recordingValues },
    createRegistry(builtInExecutors, []),
    {
      tenant: (id) => id.split('-', 1)[0],
    },
  );
  onTestFinished(() => engine.close({ graceMs: 0 }));
  for (const id of ['a-read', 'b-read']) await engine.deploy(createReadWorkflow(id));
  /** Returns a file as stored by versions without owners. */
  const putOlderFile = async (): Promise<FileRecord & { [field: string]: Json }> => {
    const id = crypto.randomUUID();
    const key = await values.put(JSON.stringify({ file: id, data: 'YWJj' }));
    return { id, name: 'abc.txt', size: 3, type: 'text/plain', key };
  };
  const executeRead = async (id: string, doc: Json, hasUnownedFiles = false): Promise<[Json, string]> => {
    const { output, runId } = await engine.execute(id, { doc }, { hasUnownedFiles });
    return [(output as { data: { text: Json } }).data.text, runId];
  };
  return { engine, values, readKeys, putOlderFile, executeRead };
}

describe('a file that was stored without an owner', () => {
  it('can be opened by the run that received it, and by a run that continues it', async () => {
    const { engine, putOlderFile, executeRead } = await openEngine();
    const file = await putOlderFile();
    const [content, runId] = await executeRead('a-read', [file], true);
    expect(content).toBe('YWJj');
    expect(await (await engine.fileReader(runId))(file)).toBe('YWJj');
    const rerun = await engine.runFromBlock(runId, 'Read');
    expect(await rerun.result()).toMatchObject({ output: { data: { text: 'YWJj' } } });
    const secondRerun = await engine.runFromBlock(rerun.runId, 'Read');
    expect(await secondRerun.result()).toMatchObject({ output: { data: { text: 'YWJj' } } });
  });

  it('can be opened by a child of the run that received it', async () => {
    const { engine, putOlderFile } = await openEngine();
    const callBlock = block('W', 'workflow_input', {
      workflowId: 'a-read',
      inputMapping: '{"doc": <start.doc>}',
    });
    await engine.deploy(workflow([callBlock], ['Start -> W'], { id: 'a-call', name: 'a-call', ...DOC }));
    const { output } = await engine.execute(
      'a-call',
      { doc: [await putOlderFile()] },
      { hasUnownedFiles: true },
    );
    expect(output).toMatchObject({ result: { data: { text: 'YWJj' } } });
  });

  it('has a record that is plain data for later runs, in any workspace', async () => {
    const { putOlderFile, executeRead } = await openEngine();
    const file = await putOlderFile();
    await executeRead('a-read', [file], true);
    expect((await executeRead('b-read', [file]))[0]).toBe('');
    expect((await executeRead('a-read', [file]))[0]).toBe('');
  });

  it('cannot be opened by an older run whose input does not contain it, or contains it with another id', async () => {
    const { engine, putOlderFile, executeRead } = await openEngine();
    const file = await putOlderFile();
    const [, runId] = await executeRead('b-read', [await putOlderFile()], true);
    expect(await (await engine.fileReader(runId))(file)).toBeUndefined();
    expect((await executeRead('b-read', [{ ...file, id: 'x' }], true))[0]).toBe('');
  });
});

describe('the owner of a file', () => {
  it('cannot be set by the author of a record or of a value', async () => {
    const { engine, values, executeRead } = await openEngine();
    const [file] = filesIn(await engine.storeFiles('a-read', { doc: ABC }));
    if (!file) throw new Error('There is no file.');
    const record = { ...file } as unknown as { [field: string]: Json };
    for (const owner of ['b', null])
      expect((await executeRead('b-read', [{ ...record, owner }]))[0]).toBe('');
    const storedValue = JSON.parse((await values.get(file.key)) ?? '') as { [field: string]: Json };
    expect(storedValue).toMatchObject({ owner: 'a' });
    const forgedKey = await values.put(JSON.stringify({ file: file.id, owner: 'b', data: file.key }));
    expect((await executeRead('b-read', [{ ...record, key: forgedKey }]))[0]).toBe(file.key);
  });
});

describe('a file reader', () => {
  it('reads each key once, even if its records have different ids', async () => {
    const { engine, readKeys, executeRead } = await openEngine();
    const [file] = filesIn(await engine.storeFiles('a-read', { doc: ABC }));
    if (!file) throw new Error('There is no file.');
    const [, runId] = await executeRead('a-read', []);
    const read = await engine.fileReader(runId);
    readKeys.length = 0;
    for (let n = 0; n < 200; n += 1) expect(await read({ id: `forged ${n}`, key: file.key })).toBeUndefined();
    expect(await read(file)).toBe('YWJj');
    expect(readKeys).toEqual([file.key]);
  });

  it('stops at its limits and when the caller disconnects', async () => {
    const { engine, readKeys, executeRead } = await openEngine();
    const files = filesIn(await engine.storeFiles('a-read', { doc: [ABC, ABC, ABC] }));
    const [, runId] = await executeRead('a-read', []);
    const readAll = async (
      limits: Parameters<typeof engine.fileReader>[1],
    ): Promise<(string | undefined)[]> => {
      const read = await engine.fileReader(runId, limits);
      const contents: (string | undefined)[] = [];
      for (const file of files) contents.push(await read(file));
      return contents;
    };
    expect(await readAll({ files: 2 })).toEqual(['YWJj', 'YWJj', undefined]);
    expect(await readAll({ bytes: 10 })).toEqual(['YWJj', undefined, undefined]);
    readKeys.length = 0;
    expect(await readAll({ signal: AbortSignal.abort() })).toEqual([undefined, undefined, undefined]);
    expect(readKeys).toEqual([]);
  });
});
