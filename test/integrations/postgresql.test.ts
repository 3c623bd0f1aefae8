import { createServer, connect } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { createSecureContext, TLSSocket } from 'node:tls';
import { blocks } from '@heddle/blocks';
import type { Json, JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { EngineOptions } from '@heddle/engine';
import { Client } from 'pg';
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { createSelfSignedCertificate } from '../support/certificate.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { block, workflow } from '../support/workflow.ts';

let url: URL;
/** Fields of a block that connects to the test database. */
let connectionFields: JsonObject;

async function executeSql(text: string): Promise<JsonObject[]> {
  const client = new Client({ connectionString: url.href });
  await client.connect();
  try {
    return (await client.query<JsonObject>(text)).rows;
  } finally {
    await client.end();
  }
}

/** Runs a block with these fields. The workflow reads `input` as `<start.input>`. */
async function run(
  blockFields: JsonObject,
  { input = {}, ...options }: EngineOptions & { input?: JsonObject } = {},
) {
  const engine = await createEngine({
    blocks: blocks(),
    egress: { exceptions: [`${url.hostname}:${url.port}`] },
    ...options,
  });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const definition = workflow([block('A', 'postgresql', blockFields)], ['Start -> A']);
  return engine.execute({ workflow: definition }, { input });
}

const runWithConnection = (overrides: JsonObject, input: JsonObject = {}) =>
  run({ ...connectionFields, ...overrides }, { input });

describe.skipIf(!hasPostgres)('a PostgreSQL block', () => {
  beforeAll(async () => {
    url = new URL(await createPostgresDatabase());
    connectionFields = {
      ...{ host: url.hostname, port: url.port, database: url.pathname.slice(1), ssl: 'disabled' },
      ...{ username: url.username, password: url.password },
    };
  });

  beforeEach(async () => {
    await executeSql('DROP TABLE IF EXISTS orders, "odd ""name"""');
    await executeSql(`CREATE TABLE orders (
      id int PRIMARY KEY, status text NOT NULL DEFAULT 'new', tags text[], extra jsonb, total numeric, at timestamptz)`);
    await executeSql(`INSERT INTO orders (id, status) VALUES (1, 'open'), (2, 'open'), (3, 'done')`);
  });

  it('returns rows as JSON values', async () => {
    const query = `SELECT 1::int a, 2::bigint b, 9007199254740993::bigint c, 1.50::numeric d, true e, NULL::int f,
      '{"x": [1]}'::jsonb g, ARRAY[1, NULL, 3] h, ARRAY['a,b', '"'] i, 'NaN'::float8 j, 0.5::float8 k,
      '2026-01-02'::date l, '\\x00ff'::bytea m, 'x' AS __proto__`;
    const { output, status } = await runWithConnection({ operation: 'query', query });
    expect(status).toBe('completed');
    expect(output).toMatchObject({ rowCount: 1, message: '1 row.' });
    expect(JSON.stringify((output as { rows: Json[] }).rows[0])).toBe(
      JSON.stringify(
        Object.fromEntries(
          Object.entries({
            ...{
              a: 1,
              b: 2,
              c: '9007199254740993',
              d: '1.50',
              e: true,
              f: null,
              g: { x: [1] },
              h: [1, null, 3],
            },
            ...{ i: ['a,b', '"'], j: 'NaN', k: 0.5, l: '2026-01-02', m: '\\x00ff' },
          }).concat([['__proto__', 'x']]),
        ),
      ),
    );
  });

  it('binds references as values and names', async () => {
    await executeSql('CREATE TABLE "odd ""name""" (a text)');
    const hostileText = `'; DROP TABLE orders; --`;
    const query = `SELECT '<start.input.a>' AS a, <start.input.n>::int + 1 AS n, 'x <start.input.a>' AS x, count(*)::int AS c FROM "<start.input.table>"`;
    expect(
      (await runWithConnection({ query }, { a: hostileText, n: 4, table: 'odd "name"' })).output,
    ).toMatchObject({
      rows: [{ a: hostileText, n: 5, x: `x ${hostileText}`, c: 0 }],
    });
    expect(
      (await runWithConnection({ query: '<start.input.sql>' }, { sql: 'SELECT 7 AS seven' })).output,
    ).toMatchObject({
      rows: [{ seven: 7 }],
    });
    const params = '[2, ["open", "done"]]';
    expect(
      (
        await runWithConnection(
          {
            query:
              'SELECT id FROM orders WHERE id > $1::int - 1 AND status = ANY($2) AND id <= <start.input.n>',
            params,
          },
          { n: 3 },
        )
      ).output,
    ).toMatchObject({ rows: [{ id: 2 }, { id: 3 }] });
    expect(await executeSql('SELECT count(*)::int AS n FROM orders')).toEqual([{ n: 3 }]);
  });

  it('inserts, changes and deletes rows with the types of the table', async () => {
    const rows = [
      { id: 4, tags: ['a', 'b,c'], extra: ['x', { y: 1 }], total: 12.5, at: '2026-01-02T03:04:05Z' },
      { id: 5, tags: null, extra: { '"': "'" }, total: null, at: null },
    ];
    const insertFields = { operation: 'insert', table: 'orders', data: JSON.stringify(rows) };
    expect(await runWithConnection(insertFields)).toMatchObject({
      status: 'completed',
      output: {
        rowCount: 2,
        rows: [{ id: 4, tags: ['a', 'b,c'], extra: ['x', { y: 1 }], total: '12.5' }, { id: 5 }],
      },
    });
    expect(
      (
        await runWithConnection(
          {
            operation: 'update',
            table: 'public.orders',
            where: 'id = <start.input.id> -- this one',
            data: '{"status": "<start.input.s>", "tags": []}',
          },
          { id: 4, s: `o'k"` },
        )
      ).output,
    ).toMatchObject({ rowCount: 1, rows: [{ id: 4, status: `o'k"`, tags: [] }] });
    expect(
      (
        await runWithConnection({
          operation: 'delete',
          table: 'orders',
          conditions: '{"status": ["open", "done"], "total": null, "id": 1}',
        })
      ).output,
    ).toMatchObject({ rowCount: 1, rows: [{ id: 1 }] });
    expect(await executeSql('SELECT id FROM orders ORDER BY id')).toEqual([2, 3, 4, 5].map((id) => ({ id })));
  });

  it.each<JsonObject>([
    { where: '' },
    { where: ' ' },
    { where: '-- all' },
    { where: 'true) RETURNING (SELECT 1' },
    { where: 'true; DELETE FROM orders' },
    { conditions: '{}' },
  ])('changes no rows without a valid condition: %j', async (condition) => {
    for (const operation of ['update', 'delete']) {
      const fields = { operation, table: 'orders', data: '{"status": "x"}', ...condition };
      const { error } = await runWithConnection(fields);
      expect(error?.code).toBe('TOOL_ARGUMENTS_INVALID');
    }
    expect(await executeSql(`SELECT count(*)::int AS n FROM orders WHERE status <> 'x'`)).toEqual([{ n: 3 }]);
  });

  it('runs only one statement, in a transaction that is rolled back after a failure', async () => {
    const { error } = await runWithConnection({
      operation: 'execute',
      query: 'DELETE FROM orders; SELECT 1',
    });
    expect(error?.message).toMatch(/cannot insert multiple commands/);
    expect(
      await runWithConnection({ operation: 'execute', query: `UPDATE orders SET status = 'x' WHERE id = 1` }),
    ).toMatchObject({
      output: { rowCount: 1, rows: [] },
    });
    const tooManyRowsResult = await runWithConnection({
      operation: 'execute',
      query: 'WITH d AS (DELETE FROM orders) SELECT generate_series(1, 10001)',
    });
    expect(tooManyRowsResult.error?.message).toMatch(
      /more than 10000 rows: add a LIMIT. Nothing has changed/,
    );
    const tooLargeResult = await runWithConnection({
      operation: 'execute',
      query: `WITH d AS (DELETE FROM orders) SELECT repeat('x', 20000000)`,
    });
    expect(tooLargeResult.error?.message).toMatch(/more than 16 MiB/);
    expect(await executeSql('SELECT count(*)::int AS n FROM orders')).toEqual([{ n: 3 }]);
  });

  it('refuses changes by the operation "query"', async () => {
    for (const query of [
      'DELETE FROM orders',
      `SELECT set_config('transaction_read_only', 'off', false)`,
      'WITH d AS (DELETE FROM orders RETURNING 1) SELECT * FROM d',
    ]) {
      const { error } = await runWithConnection({ query });
      expect(error?.code).toBe('SERVICE_FAILED');
    }
    expect((await runWithConnection({ query: 'DELETE FROM orders' })).error?.message).toMatch(
      /only the operation "execute" may/,
    );
    expect(await executeSql('SELECT count(*)::int AS n FROM orders')).toEqual([{ n: 3 }]);
  });

  it('fails with the code and the reason of the server', async () => {
    const insertResult = await runWithConnection({ operation: 'insert', table: 'orders', data: '{"id": 1}' });
    expect(insertResult.error).toMatchObject({
      code: 'SERVICE_FAILED',
      details: { code: '23505', constraint: 'orders_pkey' },
    });
    expect(insertResult.error?.message).toMatch(
      /\(23505\): duplicate key .* Key \(id\)=\(1\) already exists/,
    );
    const wrongPasswordResult = await runWithConnection({ query: 'SELECT 1', password: 'wrong-password' });
    expect(wrongPasswordResult.error?.message).toMatch(/28P01/);
    expect(JSON.stringify(wrongPasswordResult)).not.toContain(url.password);
  });

  it('lists tables with their columns', async () => {
    const { output } = await runWithConnection({ operation: 'introspect' });
    expect((output as { rows: JsonObject[] }).rows).toContainEqual(
      expect.objectContaining({
        ...{ schema: 'public', table: 'orders' },
        columns: expect.arrayContaining([
          { name: 'id', type: 'integer', nullable: false, default: null },
        ]) as Json,
      }),
    );
  });

  it('stops the statement on the server when the run is cancelled', async () => {
    const engine = await createEngine({
      blocks: blocks(),
      egress: { exceptions: [`${url.hostname}:${url.port}`] },
    });
    onTestFinished(() => engine.close({ graceMs: 0 }));
    const query = `SELECT pg_sleep(60), 'to be cancelled'`;
    const run = await engine.start({
      workflow: workflow([block('A', 'postgresql', { ...connectionFields, query })], ['Start -> A']),
    });
    const findActiveStatements = () =>
      executeSql(
        `SELECT 1 FROM pg_stat_activity WHERE query LIKE '%to be cancelled%' AND state = 'active' AND pid <> pg_backend_pid()`,
      );
    await expect.poll(findActiveStatements, { timeout: 20_000 }).toHaveLength(1);
    await engine.cancel(run.runId);
    await expect.poll(findActiveStatements, { timeout: 20_000 }).toHaveLength(0);
  });

  it('connects only to hosts and ports that the egress policy allows, and never to a path', async () => {
    const deniedHostResult = await run(
      { ...connectionFields, query: 'SELECT 1' },
      { egress: { ports: [Number(url.port)] } },
    );
    expect(deniedHostResult.error).toMatchObject({ code: 'SERVICE_FAILED' });
    expect(deniedHostResult.error?.message).toMatch(/private address/);
    const deniedPortResult = await run(
      { ...connectionFields, query: 'SELECT 1' },
      { egress: { allowPrivate: true } },
    );
    expect(deniedPortResult.error?.message).toMatch(/port \d+ of 127\.0\.0\.1 are not allowed/);
    for (const host of ['/tmp', '127.0.0.1/x', 'x@127.0.0.1', '127.0.0.1#'])
      expect((await runWithConnection({ host, query: 'SELECT 1' })).error?.message).toMatch(
        /are not a host and a port/,
      );
  });

  it('uses the database of a credential, and sends no stored password to a host that its fields name', async () => {
    const query = 'SELECT current_database() AS name';
    const name = url.pathname.slice(1);
    const expected = { output: { rows: [{ name }] } };
    const { username, password, host } = url;
    const urlCredential = { credentials: { postgresql: `${url.href}?sslmode=disable` } };
    expect(await run({ query }, urlCredential)).toMatchObject(expected);
    const splitCredential = {
      services: { postgresql: `postgresql://${host}/${name}?sslmode=disable` },
      credentials: { postgresql: `${username}:${password}` },
    };
    expect(await run({ query }, { ...splitCredential, egress: {} })).toMatchObject(expected);
    const resultWithHostField = await run(
      { query, host: url.hostname, port: url.port, database: name, ssl: 'disabled' },
      splitCredential,
    );
    expect(resultWithHostField.error?.message).toMatch(/the user is empty/);
    const resultWithoutHostField = await run({ query, database: 'other' }, urlCredential);
    expect(resultWithoutHostField.error?.message).toMatch(/"database" is set, but "host" is empty/);
    expect((await run({ query })).error?.code).toBe('CREDENTIAL_UNKNOWN');
    const resultWithFileParameter = await run(
      { query },
      { credentials: { postgresql: `${url.href}?sslcert=/etc/passwd` } },
    );
    expect(resultWithFileParameter.error?.message).toMatch(/parameter "sslcert"/);
  });

  it('encrypts the connection, and checks the certificate with verify-full', async () => {
    const proxy = await startTlsProxy();
    const proxyFields = {
      ...connectionFields,
      query: 'SELECT 1 AS one',
      host: '127.0.0.1',
      port: String(proxy.port),
    };
    const egress = { exceptions: [`127.0.0.1:${proxy.port}`] };
    const expected = { output: { rows: [{ one: 1 }] } };
    expect(await run({ ...proxyFields, ssl: 'required' }, { egress })).toMatchObject(expected);
    expect(await run({ ...proxyFields, ssl: 'preferred' }, { egress })).toMatchObject(expected);
    const verifiedFields = { ...proxyFields, ssl: 'verify-full', sslCa: proxy.ca };
    expect(await run(verifiedFields, { egress })).toMatchObject(expected);
    expect(proxy.encryptedCount()).toBe(3);
    const untrustedResult = await run({ ...proxyFields, ssl: 'verify-full' }, { egress });
    expect(untrustedResult.error?.message).toMatch(/certificate/);
    expect((await runWithConnection({ query: 'SELECT 1', ssl: 'required' })).error?.message).toMatch(
      /does not support SSL/,
    );
    expect(await runWithConnection({ query: 'SELECT 1 AS one', ssl: 'preferred' })).toMatchObject(expected);
    expect((await runWithConnection({ query: 'SELECT 1', ssl: 'maybe' })).error?.message).toMatch(
      /"maybe" is not one of/,
    );
  });
});

/** Starts a TLS proxy in front of the database. */
async function startTlsProxy() {
  const { cert, key } = createSelfSignedCertificate();
  let encryptedConnectionCount = 0;
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket
      .on('error', () => undefined)
      .once('data', () => {
        // Accepts the client's request for SSL.
        socket.write('S');
        const tls = new TLSSocket(socket, {
          isServer: true,
          secureContext: createSecureContext({ cert, key }),
        });
        tls
          .on('error', () => undefined)
          .once('secure', () => {
            encryptedConnectionCount += 1;
            const target = connect(Number(url.port), url.hostname).on('error', () => undefined);
            tls.pipe(target).pipe(tls);
          });
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return {
    port: (server.address() as AddressInfo).port,
    ca: cert,
    encryptedCount: () => encryptedConnectionCount,
  };
}
