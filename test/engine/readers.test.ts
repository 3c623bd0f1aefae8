import { randomUUID } from 'node:crypto';
import { createEngine } from '@heddle/engine';
import type { Engine, EngineOptions } from '@heddle/engine';
import { openFolderClient, openPostgresReader } from '@heddle/engine/reader';
import { describe, expect, it, onTestFinished } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { hasPostgres, postgresDatabase } from '../support/postgres.ts';
import { overrideMethods } from '../support/override-methods.ts';
import { Script, work } from '../support/script.ts';
import { block, workflow } from '../support/workflow.ts';
import { openEngineOn, openReusableStores } from './open-engine.ts';

const chain = { workflow: workflow([work('A'), work('B')], ['Start -> A -> B']) };

interface Reader extends Pick<Engine, 'getRun' | 'getLogs' | 'listRuns'> {
  getTrace?: Engine['getTrace'];
}

/** A place for runs: opens the engine that owns them, and another reader of the same stores. */
interface Location {
  openOwner(options: EngineOptions): Promise<Engine>;
  openReader(): Promise<Reader> | Reader;
}

function inFolder(): Location {
  const data = dataFolder();
  return {
    openOwner: (options) => createEngine({ ...options, data }),
    openReader: () => {
      const client = openFolderClient(data);
      onTestFinished(() => client.close());
      return client;
    },
  };
}

async function onPostgres(): Promise<Location & { postgres: NonNullable<EngineOptions['postgres']> }> {
  const postgres = { url: await postgresDatabase(), schema: randomUUID(), maxConnections: 3 };
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

async function withPeerEngine(): Promise<Location> {
  const { openOwner, postgres } = await onPostgres();
  return {
    openOwner,
    openReader: async () => {
      const peer = await createEngine({ postgres, recover: false });
      onTestFinished(() => peer.close());
      return peer;
    },
  };
}

const LOCATIONS: [name: string, open: () => Location | Promise<Location>][] = [
  ['in a data folder', inFolder],
  ...(hasPostgres
    ? ([
        ['on PostgreSQL', onPostgres],
        ['of another process on PostgreSQL', withPeerEngine],
      ] satisfies [string, () => Promise<Location>][])
    : []),
];

describe.each(LOCATIONS)('a run %s', (_, open) => {
  it('has the same record, logs and list entry for its owner and other readers, even before they are saved', async () => {
    const { openOwner, openReader } = await open();
    const script = new Script({ A: () => ({ output: { n: 1 } }) });
    const engine = await openOwner({ blocks: [script.executor] });
    onTestFinished(() => engine.close({ graceMs: 0 }));
    const reader = await openReader();
    const { runId } = await engine.start(chain);
    await script.nextCall('B');

    for (const each of [reader, engine]) {
      const detail = { status: 'running', blockOutputs: { 'a.n': 1, b: null } };
      expect(await each.getRun(runId, { select: ['a.n', 'b'] })).toMatchObject(detail);
      expect((await each.listRuns()).runs).toEqual([await each.getRun(runId)]);
      expect(statuses(await each.getLogs(runId))).toEqual(STATUSES);
      if (each.getTrace) expect(statuses((await each.getTrace(runId)).children)).toEqual(STATUSES);
    }
  });
});

it('a list of runs does not read the stored records of open runs a second time', async () => {
  const stores = openReusableStores();
  const before = await openEngineOn(stores);
  await before.execute({ workflow: workflow([block('H', 'human_in_the_loop')], ['Start -> H']) });
  await before.close();
  const read: string[] = [];
  const runs = overrideMethods(stores.runs, {
    record: (runId) => {
      read.push(runId);
      return stores.runs.record(runId);
    },
  });
  const after = await openEngineOn({ ...stores, runs }, { recover: false });
  expect((await after.listRuns()).runs).toMatchObject([{ status: 'paused' }]);
  expect(read).toEqual([]);
});

const STATUSES = [
  ['Start', 'completed'],
  ['A', 'completed'],
  ['B', 'running'],
];

function statuses(list: readonly { blockName?: string; name?: string; status: string }[]): unknown[] {
  return list.map(({ blockName, name, status }) => [blockName ?? name, status]);
}
