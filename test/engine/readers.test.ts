import { randomUUID } from 'node:crypto';
import { createEngine } from '@heddle/engine';
import type { Engine, EngineOptions } from '@heddle/engine';
import { openFolderClient, openPostgresReader } from '@heddle/engine/reader';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { overrideMethods } from '../support/override-methods.ts';
import { ScriptedExecutor, work } from '../support/scripted-executor.ts';
import { block, workflow } from '../support/workflow.ts';
import { openEngineOn, openReusableStores } from './open-engine.ts';

const chainSource = { workflow: workflow([work('A'), work('B')], ['Start -> A -> B']) };

interface Reader extends Pick<Engine, 'getRun' | 'getLogs' | 'listRuns'> {
  getTrace?: Engine['getTrace'];
}

/** Stores with runs: opens the engine that owns the runs, and another reader of the same stores. */
interface Location {
  openOwner(options: EngineOptions): Promise<Engine>;
  openReader(): Promise<Reader> | Reader;
}

function createFolderLocation(): Location {
  const dataFolder = createDataFolder();
  return {
    openOwner: (options) => createEngine({ ...options, data: dataFolder }),
    openReader: () => {
      const client = openFolderClient(dataFolder);
      onTestFinished(() => client.close());
      return client;
    },
  };
}

async function createPostgresLocation(): Promise<
  Location & { postgres: NonNullable<EngineOptions['postgres']> }
> {
  const postgres = { url: await createPostgresDatabase(), schema: randomUUID(), maxConnections: 3 };
  return {
    postgres,
    openOwner: (options) => createEngine({ ...options, postgres }),
    openReader: async () => {
      const reader = await openPostgresReader(postgres);
      onTestFinished(() => reader.close());
      return reader;
    },
  };
}

async function createPeerLocation(): Promise<Location> {
  const { openOwner, postgres } = await createPostgresLocation();
  return {
    openOwner,
    openReader: async () => {
      const peer = await createEngine({ postgres, recover: false });
      onTestFinished(() => peer.close());
      return peer;
    },
  };
}

const LOCATIONS: [name: string, createLocation: () => Location | Promise<Location>][] = [
  ['in a data folder', createFolderLocation],
  ...(hasPostgres
    ? ([
        ['on PostgreSQL', createPostgresLocation],
        ['of another process on PostgreSQL', createPeerLocation],
      ] satisfies [string, () => Promise<Location>][])
    : []),
];

describe.each(LOCATIONS)('a run %s', (_, createLocation) => {
  it('has the same record, logs and list entry for its owner and other readers, even before they are saved', async () => {
    const { openOwner, openReader } = await createLocation();
    const scriptedExecutor = new ScriptedExecutor({ A: () => ({ output: { n: 1 } }) });
    const engine = await openOwner({ blocks: [scriptedExecutor.executor] });
    onTestFinished(() => engine.close({ graceMs: 0 }));
    const reader = await openReader();
    const { runId } = await engine.start(chainSource);
    await scriptedExecutor.nextCall('B');

    for (const runReader of [reader, engine]) {
      const expectedRun = { status: 'running', blockOutputs: { 'a.n': 1, b: null } };
      expect(await runReader.getRun(runId, { select: ['a.n', 'b'] })).toMatchObject(expectedRun);
      expect((await runReader.listRuns()).runs).toEqual([await runReader.getRun(runId)]);
      expect(statusesIn(await runReader.getLogs(runId))).toEqual(STATUSES);
      if (runReader.getTrace)
        expect(statusesIn((await runReader.getTrace(runId)).children)).toEqual(STATUSES);
    }
  });
});

it('a list of runs does not read the stored records of open runs a second time', async () => {
  const stores = openReusableStores();
  const firstEngine = await openEngineOn(stores);
  await firstEngine.execute({ workflow: workflow([block('H', 'human_in_the_loop')], ['Start -> H']) });
  await firstEngine.close();
  const idsOfReadRecords: string[] = [];
  const runs = overrideMethods(stores.runs, {
    record: (runId) => {
      idsOfReadRecords.push(runId);
      return stores.runs.record(runId);
    },
  });
  const secondEngine = await openEngineOn({ ...stores, runs }, { recover: false });
  expect((await secondEngine.listRuns()).runs).toMatchObject([{ status: 'paused' }]);
  expect(idsOfReadRecords).toEqual([]);
});

const STATUSES = [
  ['Start', 'completed'],
  ['A', 'completed'],
  ['B', 'running'],
];

function statusesIn(list: readonly { blockName?: string; name?: string; status: string }[]): unknown[] {
  return list.map(({ blockName, name, status }) => [blockName ?? name, status]);
}
