import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import { afterAll, describe, expect, it } from 'vitest';
import { openServiceStore } from '../../../../test/support/api.ts';
import { createDataFolder } from '../../../../test/support/data-folder.ts';
import { hasPostgres, createPostgresDatabase } from '../../../../test/support/postgres.ts';
import type { ServiceStore, ServiceStoreOptions } from '../store/open.ts';
import type { Tables } from '../store/schema.ts';
import { changeIfUnlocked } from './change.ts';
import { createFolder } from './folders.ts';
import type { Db } from './folders.ts';
import { createGraph } from './graph.ts';
import { addWorkflow, changeWorkflow } from './store.ts';

const NOW = '2026-01-01T00:00:00.000Z';
const SECRET = 'a secret that is only for the tests of this file';

interface Setup {
  /** Connections of the writer and of the host application, which locks folders: on SQLite, the same one. */
  writer: Db;
  host: Db;
  workspaceId: string;
  /**
   * Resolves when this number of statements wait for a lock. Resolves immediately on SQLite, where transactions wait
   * for each other.
   */
  waitUntilBlocked: (statementCount: number) => Promise<void>;
}

function openStore(options: ServiceStoreOptions): Promise<ServiceStore> {
  const store = openServiceStore(options);
  afterAll(async () => (await store).close());
  return store;
}

async function createWorkspace(
  store: ServiceStore,
  otherStore: ServiceStore,
): Promise<Omit<Setup, 'waitUntilBlocked'>> {
  const workspaceId = crypto.randomUUID();
  const row = { id: workspaceId, name: 'Looms', personal_keys: 1, created_at: NOW };
  await (store.database as Kysely<Tables>).insertInto('workspaces').values(row).execute();
  return { writer: store.database as Db, host: otherStore.database as Db, workspaceId };
}

async function openSqlite(): Promise<Setup> {
  const store = await openStore({ data: createDataFolder(afterAll) });
  return { ...(await createWorkspace(store, store)), waitUntilBlocked: () => Promise.resolve() };
}

async function openPostgres(): Promise<Setup> {
  const options = { postgres: { url: await createPostgresDatabase() }, secret: SECRET };
  const [store, otherStore] = [await openStore(options), await openStore(options)];
  const waitUntilBlocked = async (statementCount: number): Promise<void> => {
    const waitingQuery = sql<{ count: string }>`select count(*) as count from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`;
    const countWaitingStatements = async () =>
      Number((await waitingQuery.execute(otherStore.database)).rows[0]?.count);
    await expect.poll(countWaitingStatements).toBe(statementCount);
  };
  return { ...(await createWorkspace(store, otherStore)), waitUntilBlocked };
}

const DATABASES: { [name: string]: () => Promise<Setup> } = {
  SQLite: openSqlite,
  ...(hasPostgres && { PostgreSQL: openPostgres }),
};

describe.each(Object.entries(DATABASES))('a write to a workflow or a folder on %s', (_name, open) => {
  const setup = open();

  async function createFolders(...paths: string[]): Promise<void> {
    const { host, workspaceId } = await setup;
    for (const path of paths) await createFolder(host, { workspaceId, path }, NOW);
  }

  async function createWorkflow(folderPath: string): Promise<string> {
    const { host, workspaceId } = await setup;
    const workflow = { workspaceId, name: crypto.randomUUID(), description: null, folderPath };
    return (await addWorkflow(host, { ...workflow, graph: createGraph(), now: NOW })).id;
  }

  async function rename(id: string): Promise<void> {
    const { writer, workspaceId } = await setup;
    const workflow = { id, workspace_id: workspaceId, name: 'before' };
    await changeIfUnlocked(writer, id, async (tx) => {
      await changeWorkflow(tx, workflow, { change: { name: `renamed ${id}` }, now: NOW });
    });
  }

  async function nameOf(id: string): Promise<string> {
    const { host } = await setup;
    const query = host.selectFrom('workflows').select('name').where('id', '=', id);
    return (await query.executeTakeFirstOrThrow()).name;
  }

  function lockFolder(db: Db, workspaceId: string, path: string) {
    return db
      .updateTable('workflow_folders')
      .set({ locked: 1 })
      .where('workspace_id', '=', workspaceId)
      .where('path', '=', path)
      .execute();
  }

  it('that begins while the host application locks an enclosing folder waits, and is then refused', async () => {
    const { host, workspaceId, waitUntilBlocked } = await setup;
    await createFolders('/one', '/one/in');
    const id = await createWorkflow('/one/in');
    const { writing } = await host.transaction().execute(async (tx) => {
      await lockFolder(tx, workspaceId, '/one');
      const writing = rename(id).then(
        () => undefined,
        (error: unknown) => error,
      );
      await waitUntilBlocked(1);
      return { writing };
    });
    expect(await writing).toMatchObject({ status: 423, message: 'The folder "/one" is locked' });
    expect(await nameOf(id)).not.toContain('renamed');
  });

  it('makes the host application, which locks an enclosing folder, wait until the write ends', async () => {
    const { writer, host, workspaceId, waitUntilBlocked } = await setup;
    await createFolders('/two', '/two/in');
    const id = await createWorkflow('/two/in');
    const order: string[] = [];
    const { lock } = await changeIfUnlocked(writer, id, async () => {
      const pendingLock = lockFolder(host, workspaceId, '/two').then(() => order.push('locked'));
      await waitUntilBlocked(1);
      order.push('written');
      return { lock: pendingLock };
    });
    await lock;
    expect(order).toEqual(['written', 'locked']);
    await expect(rename(id)).rejects.toMatchObject({ status: 423 });
  });

  it('is checked against the folder that the workflow has been moved to in the meantime', async () => {
    const { host, workspaceId, waitUntilBlocked } = await setup;
    await createFolders('/three', '/four');
    const id = await createWorkflow('/three');
    const { writing } = await host.transaction().execute(async (tx) => {
      await lockFolder(tx, workspaceId, '/four');
      await tx.updateTable('workflows').set({ folder_path: '/four' }).where('id', '=', id).execute();
      const writing = rename(id).then(
        () => undefined,
        (error: unknown) => error,
      );
      await waitUntilBlocked(1);
      return { writing };
    });
    expect(await writing).toMatchObject({ status: 423, message: 'The folder "/four" is locked' });
  });

  it('to an archived workflow is refused', async () => {
    const { host } = await setup;
    const id = await createWorkflow('/');
    await host.updateTable('workflows').set({ archived_at: NOW }).where('id', '=', id).execute();
    await expect(rename(id)).rejects.toMatchObject({ status: 404, message: 'Workflow not found' });
  });

  it('that moves the workflow does not deadlock with a move in the other direction', async () => {
    const { writer, host, workspaceId } = await setup;
    await createFolders('/five', '/six');
    const [firstId, secondId] = [await createWorkflow('/five'), await createWorkflow('/six')];
    async function move(db: Db, id: string, folderPath: string): Promise<void> {
      const workflow = { id, workspace_id: workspaceId, name: id };
      const write = async (tx: Db): Promise<void> => {
        await changeWorkflow(tx, workflow, { change: { folderPath }, now: NOW });
      };
      await changeIfUnlocked(db, id, write, folderPath);
    }
    for (let round = 0; round < 10; round += 1) {
      const [firstTarget, secondTarget] = round % 2 === 0 ? ['/six', '/five'] : ['/five', '/six'];
      await Promise.all([move(writer, firstId, firstTarget), move(host, secondId, secondTarget)]);
    }
    const rows = await host
      .selectFrom('workflows')
      .select(['id', 'folder_path'])
      .where('id', 'in', [firstId, secondId])
      .execute();
    expect(new Map(rows.map((row) => [row.id, row.folder_path]))).toEqual(
      new Map([
        [firstId, '/five'],
        [secondId, '/six'],
      ]),
    );
  });

  it('that creates a folder is refused if another write creates the folder at the same time', async () => {
    const { writer, host, workspaceId } = await setup;
    const create = (db: Db) =>
      db.transaction().execute((tx) => createFolder(tx, { workspaceId, path: '/seven' }, NOW));
    const results = await Promise.allSettled([create(writer), create(host)]);
    const errors = results.flatMap((result) =>
      result.status === 'rejected' ? [result.reason as unknown] : [],
    );
    expect(errors).toMatchObject([{ status: 409, message: 'There is a folder "/seven" already' }]);
  });
});
