import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { inspect } from 'node:util';
import type { PostgresOptions, SharedStores } from '@heddle/engine/stores';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import {
  runAsSuperuser,
  hasPostgres,
  createPostgresDatabase,
  getPostgresServer,
} from '../support/postgres.ts';
import { createEntry, createRunHeader, createStartedEntry } from '../support/run-data.ts';
import { openPostgresStores, queryAsSuperuser } from './postgres-stores.ts';

const PASSWORD = 'very-secret-7';

let url = '';

const open = (options: Partial<PostgresOptions> = {}): Promise<SharedStores> =>
  openPostgresStores({ url, ...options });
const runQuery = (query: string): Promise<unknown[]> => queryAsSuperuser(url, query);

function urlWith(change: (changedUrl: URL) => void): string {
  const changedUrl = new URL(url);
  change(changedUrl);
  return changedUrl.href;
}

/** Expects that `act` fails with `code`, without a password in the error. Returns the error. */
async function expectError(act: () => unknown, code: string): Promise<Error> {
  const error = await (async () => act())().then(
    () => expect.fail(`${code} was expected`),
    (thrown: unknown) => thrown as Error,
  );
  expect(error).toMatchObject({ code });
  const errorText = inspect(error, { depth: 20, showHidden: true });
  for (const secret of [PASSWORD, new URL(url).password]) expect(errorText).not.toContain(secret);
  return error;
}

describe.skipIf(!hasPostgres)('PostgreSQL that cannot be used', () => {
  beforeAll(async () => {
    url = await createPostgresDatabase();
  });

  it('fails with an error if nothing listens, the server closes the connection, or the host is unknown', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.on('connection', (socket) => socket.destroy());
    const urlAt = (host: string): string => `postgresql://me:${PASSWORD}@${host}/db`;
    expect((await expectError(() => open({ url: urlAt('127.0.0.1:1') }), 'DATA_UNREACHABLE')).message).toBe(
      'The database "db" at 127.0.0.1:1 cannot be used: nothing listens at that address. Start the database, or correct the host and the port.',
    );
    await expectError(() => open({ url: urlAt(`127.0.0.1:${port}`) }), 'DATA_UNREACHABLE');
    expect(
      (await expectError(() => open({ url: urlAt('no.such.host.invalid') }), 'DATA_UNREACHABLE')).message,
    ).toMatch(/host name (is unknown|cannot be resolved)/);
  });

  it('fails with an error if it refuses the user or the password, or the database does not exist', async () => {
    const urls = [
      urlWith((changedUrl) => (changedUrl.password = PASSWORD)),
      urlWith((changedUrl) => (changedUrl.username = 'nobody-at-all')),
      urlWith((changedUrl) => (changedUrl.password = '')),
    ];
    for (const wrongUrl of urls) {
      const { message } = await expectError(() => open({ url: wrongUrl }), 'DATA_UNREACHABLE');
      expect(message).toMatch(/refuses the user "(heddle|nobody-at-all)"\. Check the user, the password/);
    }
    const unknownDatabaseUrl = urlWith((changedUrl) => (changedUrl.pathname = '/nowhere'));
    expect(
      (await expectError(() => open({ url: unknownDatabaseUrl }), 'DATA_UNREACHABLE')).message,
    ).toContain('it has no database "nowhere". Create it');
  });

  it.each([
    { url: `mysql://me:${PASSWORD}@host/db` },
    { url: `postgresql://me:${PASSWORD}@host:port/db` },
    { url: '' },
    { schema: '' },
    { schema: 'x'.repeat(64) },
    { maxConnections: 0 },
    { maxConnections: 1.5 },
  ])('throws OPTIONS_INVALID for the options %o', async (options) => {
    await expectError(() => open(options), 'OPTIONS_INVALID');
  });

  it('is refused, and not changed, if the schema has a newer format', async () => {
    const schema = `s ${randomUUID()}`;
    await (await open({ schema })).close();
    await runQuery(`UPDATE "${schema}".format SET format = 99`);
    const { message } = await expectError(() => open({ schema }), 'DATA_FORMAT_UNSUPPORTED');
    expect(message).toMatch(
      /it has format 99, and this version of Heddle knows formats up to 8\. Use the newer/,
    );
    expect(await runQuery(`SELECT format FROM "${schema}".format`)).toEqual([{ format: 99 }]);
  });

  it('is refused if the schema has tables of another program, but not if it is empty', async () => {
    await runQuery('CREATE SCHEMA theirs; CREATE TABLE theirs.plans (x integer)');
    const { message } = await expectError(() => open({ schema: 'theirs' }), 'DATA_FORMAT_UNSUPPORTED');
    expect(message).toMatch(/"theirs".*has tables, but not those of Heddle\. Choose another schema/);
    await runQuery('CREATE SCHEMA "prepared ""one"""');
    expect(await (await open({ schema: 'prepared "one"' })).runs.unfinishedRunIds()).toEqual([]);
  });

  it('is refused if its encoding is not UTF-8', async () => {
    const server = await getPostgresServer();
    const name = `ascii_${randomUUID().replaceAll('-', '')}`;
    await runAsSuperuser(server, `CREATE DATABASE ${name} TEMPLATE template0 ENCODING 'SQL_ASCII'`);
    onTestFinished(async () => void (await runAsSuperuser(server, `DROP DATABASE ${name}`)));
    const { message } = await expectError(() => open({ url: server.url(name) }), 'DATA_FORMAT_UNSUPPORTED');
    expect(message).toContain('encoding SQL_ASCII. Use a database with UTF8');
  });

  it('throws DATA_UNWRITABLE if the user lacks privileges, or the server is read-only', async () => {
    const user = `user_${randomUUID().replaceAll('-', '')}`;
    await runQuery(`CREATE USER ${user} PASSWORD '${PASSWORD}'`);
    onTestFinished(async () => void (await runQuery(`DROP USER ${user}`)));
    const limitedUrl = urlWith((changedUrl) => {
      changedUrl.username = user;
      changedUrl.password = PASSWORD;
    });
    expect((await expectError(() => open({ url: limitedUrl }), 'DATA_UNWRITABLE')).message).toContain(
      `the user "${user}" lacks the privileges. Let it create schemas`,
    );
    const schema = `s ${randomUUID()}`;
    await (await open({ schema })).close();
    await runQuery(
      `GRANT USAGE ON SCHEMA "${schema}" TO ${user}; GRANT SELECT ON ALL TABLES IN SCHEMA "${schema}" TO ${user}`,
    );
    const limitedStores = await open({ url: limitedUrl, schema });
    expect(await limitedStores.runs.unfinishedRunIds()).toEqual([]);
    await expectError(() => limitedStores.values.put('1'), 'DATA_UNWRITABLE');
    await limitedStores.close();
    const readOnlyUrl = urlWith((changedUrl) =>
      changedUrl.searchParams.set('options', '-c default_transaction_read_only=on'),
    );
    const readOnlyStores = await open({ url: readOnlyUrl, schema });
    expect((await expectError(() => readOnlyStores.values.put('1'), 'DATA_UNWRITABLE')).message).toContain(
      'it is read-only',
    );
    await runQuery(`DROP OWNED BY ${user}`);
  });

  it('reports data that was changed outside Heddle', async () => {
    const schema = `s ${randomUUID()}`;
    const { runs } = await open({ schema });
    await runs.create(createRunHeader('r'), createStartedEntry());
    await runs.append('r', [createEntry(2), createEntry(3)]);
    await runQuery(`DELETE FROM "${schema}".journal WHERE seq = 2`);
    await expectError(() => runs.journal('r'), 'JOURNAL_CORRUPT');
    await runQuery(`UPDATE "${schema}".journal SET entry = 'x'`);
    await expectError(() => runs.tail('r', 2), 'JOURNAL_CORRUPT');
    await runQuery(`DELETE FROM "${schema}".journal`);
    await expectError(() => runs.journal('r'), 'JOURNAL_CORRUPT');
    await runQuery(`DROP TABLE "${schema}".journal`);
    const { message } = await expectError(() => runs.journal('r'), 'DATA_FORMAT_UNSUPPORTED');
    expect(message).toContain(`the tables in the schema "${schema}" were changed outside Heddle`);
  });

  it('refuses NUL in an id', async () => {
    const { runs } = await open();
    await expectError(() => runs.create(createRunHeader('a\0b'), createStartedEntry()), 'OPTIONS_INVALID');
  });
});
