import { sql } from 'kysely';
import type { Kysely } from 'kysely';
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { createPostgresDatabase, storesToTest } from '../../../../test/support/postgres.ts';
import { resealStoredSecrets } from '../reseal.ts';
import { parseKeys, Sealer } from '../sealing.ts';
import { setStoredSecret } from '../secrets/manage.ts';
import { openServiceStore } from '../store/open.ts';
import { listCredentials, removeStoredCredential, storeCredential } from './manage.ts';
import type { CredentialInput } from './manage.ts';
import { MAX_CREDENTIALS } from './schemas.ts';
import { findCredentialRow, findOldestCredentialRow, openMaterial } from './store.ts';
import type { CredentialRow, CredentialTables } from './tables.ts';

const [OLD_KEY, NEW_KEY] = [1, 2].map((byte) => Buffer.alloc(32, byte).toString('base64')) as [
  string,
  string,
];
const KEY = 'sk-the-key-of-the-shop';

const STORE_KINDS = storesToTest('stored credentials');

describe.each(STORE_KINDS)('stored credentials on %s', (kind) => {
  let url: string | undefined;
  beforeAll(async () => {
    url = kind === 'postgres' ? await createPostgresDatabase() : undefined;
  });

  /** Creates a store with two workspaces. */
  async function setup(postgres = url) {
    const secret = 'x'.repeat(32);
    const store = await openServiceStore(
      postgres === undefined ? {} : { postgres: { url: postgres }, secret },
    );
    onTestFinished(() => store.close());
    const { workspaces, database } = store;
    const userId = await workspaces.createUser({ email: `${crypto.randomUUID()}@x.test`, name: 'A' });
    const workspaceId = await workspaces.createWorkspace('Mine', userId);
    const otherWorkspaceId = await workspaces.createWorkspace('Other', userId);
    const sealer = new Sealer(parseKeys(OLD_KEY));
    const db = database as Kysely<CredentialTables>;
    const add = (overrides: Partial<CredentialInput> = {}) =>
      storeCredential(database, sealer, {
        ...{ workspaceId, name: 'Shop', provider: 'shop' },
        material: { type: 'api_key', key: KEY },
        ...overrides,
      });
    const readRow = async (id: string, workspace = workspaceId) =>
      (await findCredentialRow(db, { workspaceId: workspace, id })) as CredentialRow;
    return { database, db, sealer, workspaceId, otherWorkspaceId, add, readRow };
  }

  it('are sealed, replaced if the name exists, listed without secrets and removed', async () => {
    const { database, db, sealer, workspaceId, add, readRow } = await setup();
    const { credential, isNew } = await add({ description: 'of the shop' });
    expect(isNew).toBe(true);
    expect(openMaterial(sealer, await readRow(credential.id))).toEqual({ type: 'api_key', key: KEY });
    const replacement = await add({ material: { type: 'api_key', key: 'sk-another-key' } });
    expect(replacement).toMatchObject({
      isNew: false,
      credential: { id: credential.id, description: 'of the shop' },
    });
    expect(await readRow(credential.id)).toMatchObject({ version: 2 });
    expect(openMaterial(sealer, await readRow(credential.id))).toMatchObject({ key: 'sk-another-key' });
    const rows = JSON.stringify(await db.selectFrom('credentials').selectAll().execute());
    const listedCredentials = await listCredentials(database, workspaceId);
    expect(listedCredentials).toMatchObject([
      { name: 'Shop', provider: 'shop', type: 'api_key', state: 'connected', description: 'of the shop' },
    ]);
    expect(rows + JSON.stringify(listedCredentials)).not.toMatch(/sk-(?:the|another)/);
    expect(await removeStoredCredential(database, { workspaceId, name: 'Shop' })).toBe(true);
    expect(await removeStoredCredential(database, { workspaceId, name: 'Shop' })).toBe(false);
  });

  it('of another workspace cannot be read, listed or removed', async () => {
    const { database, db, workspaceId, otherWorkspaceId, add } = await setup();
    const { credential } = await add();
    const query = { providerId: 'shop', type: 'api_key' } as const;
    expect(await findCredentialRow(db, { workspaceId: otherWorkspaceId, id: credential.id })).toBeUndefined();
    expect(await findOldestCredentialRow(db, { workspaceId: otherWorkspaceId, ...query })).toBeUndefined();
    expect(await listCredentials(database, otherWorkspaceId)).toEqual([]);
    expect(await removeStoredCredential(database, { workspaceId: otherWorkspaceId, name: 'Shop' })).toBe(
      false,
    );
    expect(await add({ workspaceId: otherWorkspaceId })).toMatchObject({ isNew: true });
    expect(await findOldestCredentialRow(db, { workspaceId, ...query })).toMatchObject({ id: credential.id });
  });

  it('are not opened in another workspace, under another id, provider or type', async () => {
    const { db, sealer, workspaceId, otherWorkspaceId, add, readRow } = await setup();
    const { credential } = await add({
      material: { type: 'service_account', key: '{"private":"of the shop"}' },
    });
    const { id } = credential;
    const copy = await readRow(id);
    for (const change of [
      { workspace_id: otherWorkspaceId },
      { id: 'another', display_name: 'Another' },
      { id: 'a', display_name: 'A', provider_id: 'another' },
    ]) {
      const movedRow = { ...copy, ...change };
      await db.insertInto('credentials').values(movedRow).execute();
      const storedRow = await readRow(movedRow.id, movedRow.workspace_id);
      expect(() => openMaterial(sealer, storedRow)).toThrow(
        expect.objectContaining({ code: 'NOT_AUTHENTIC' }),
      );
    }
    await db.updateTable('credentials').set({ type: 'api_key' }).where('id', '=', id).execute();
    const changedRow = await readRow(id, workspaceId);
    expect(() => openMaterial(sealer, changedRow)).toThrow(
      expect.objectContaining({ code: 'NOT_AUTHENTIC' }),
    );
  });

  it('keep their type and provider: another credential needs another name', async () => {
    const { add } = await setup();
    await add();
    await expect(add({ provider: 'other' })).rejects.toThrow('Another credential has the name "Shop"');
    await expect(add({ material: { type: 'service_account', key: KEY } })).rejects.toThrow(
      'Another credential has the name "Shop"',
    );
  });

  it.each<[string, Partial<CredentialInput>]>([
    ['name', { name: '' }],
    ['name', { name: ' x' }],
    ['name', { name: 'a\u0000b' }],
    ['name', { name: '\ud800' }],
    ['name', { name: 'x'.repeat(256) }],
    ['provider', { provider: 'a/b' }],
    ['provider', { provider: '' }],
    ['description', { description: '\ud800' }],
    ['description', { description: 'x'.repeat(501) }],
    ['key', { material: { type: 'api_key', key: 'short' } }],
    ['key', { material: { type: 'api_key', key: `${KEY}\r\nX-Other: header` } }],
    ['key', { material: { type: 'api_key', key: 'x'.repeat(8193) } }],
    ['key', { material: { type: 'service_account', key: `${KEY}\ud800` } }],
    ['token', { material: { type: 'oauth', accessToken: '' } }],
  ])('refuse an invalid %s without showing it: %j', async (field, input) => {
    const { add } = await setup();
    const refusal = await add(input).catch((error: unknown) => error as Error);
    expect(refusal).toMatchObject({ name: 'RangeError' });
    expect((refusal as Error).message).toMatch(new RegExp(`^The ${field} is invalid: `));
    expect((refusal as Error).message).not.toContain(KEY);
  });

  it('are limited in number', async () => {
    const { database, db, workspaceId, add, readRow } = await setup();
    const { credential } = await add();
    const firstRow = await readRow(credential.id);
    const rows = Array.from({ length: MAX_CREDENTIALS - 1 }, (_, index) => ({
      ...firstRow,
      id: `c${index}`,
      display_name: `C${index}`,
    }));
    for (let start = 0; start < rows.length; start += 100)
      await db
        .insertInto('credentials')
        .values(rows.slice(start, start + 100))
        .execute();
    await expect(add({ name: 'One more' })).rejects.toThrow('The workspace has 1000 credentials already.');
    expect(await add()).toMatchObject({ isNew: false });
    expect(await listCredentials(database, workspaceId)).toHaveLength(MAX_CREDENTIALS);
  });

  it('are sealed again, like the secrets, when the key is rotated', async () => {
    const { database, workspaceId, add, readRow } = await setup(
      kind === 'postgres' ? await createPostgresDatabase() : undefined,
    );
    const oldSealer = new Sealer(parseKeys(OLD_KEY));
    await setStoredSecret(database, oldSealer, { workspaceId, name: 'TOKEN', value: 'a secret value' });
    const ids: string[] = [];
    for (let index = 0; index < 120; index++) ids.push((await add({ name: `Shop ${index}` })).credential.id);
    const sealerWithBothKeys = new Sealer(parseKeys(`${NEW_KEY},${OLD_KEY}`));
    expect(await resealStoredSecrets(database, sealerWithBothKeys, undefined)).toMatchObject({
      resealed: 121,
    });
    expect(await resealStoredSecrets(database, sealerWithBothKeys, undefined)).toMatchObject({ resealed: 0 });
    const sealer = new Sealer(parseKeys(NEW_KEY));
    for (const id of ids)
      expect(openMaterial(sealer, await readRow(id))).toEqual({ type: 'api_key', key: KEY });
    expect(await readRow(ids[0] as string)).toMatchObject({ version: 1 });
    expect(
      (await sql`select * from secrets where key_id = ${oldSealer.currentKeyId()}`.execute(database)).rows,
    ).toEqual([]);
  });
});
