import { openServiceStore } from '@heddle/service';
import { beforeAll, describe, expect, it } from 'vitest';
import { errorIn, testApi } from '../support/api.ts';
import type { TestApi } from '../support/api.ts';
import { drawnStores, postgresDatabase } from '../support/postgres.ts';

const NAMES = drawnStores('workspaces');
const WORKSPACES = '/api/v2/workspaces';

interface Workspace {
  id: string;
  name: string;
  color: string;
  logoUrl: string | null;
  memberCount: number;
  createdAt: string;
  updatedAt: string;
}

interface Page<Item> {
  data: Item[];
  nextCursor: string | null;
}

describe.each(NAMES)('workspaces on %s', (database) => {
  let api: TestApi;

  beforeAll(async () => {
    const secret = 'x'.repeat(32);
    const url = database === 'postgres' ? await postgresDatabase() : undefined;
    api = await testApi({
      store: await openServiceStore(url === undefined ? {} : { postgres: { url }, secret }),
    });
  });

  /** Another person, with a key. */
  async function person(email = `${crypto.randomUUID()}@x.test`): Promise<{ userId: string; key: string }> {
    const userId = await api.store.workspaces.createUser({ email, name: `Name of ${email}` });
    return { userId, key: (await api.store.keys.create({ userId }, 'test')).key };
  }

  async function page<Item>(path: string, key: string): Promise<Page<Item>> {
    const { status, body } = await api.call('GET', path, { key });
    expect(status).toBe(200);
    return body as Page<Item>;
  }

  /** Every item, from pages of one. */
  async function walked<Item>(path: string, key: string): Promise<Item[]> {
    const items: Item[] = [];
    let cursor: string | null = null;
    do {
      const at = new URL(path, 'http://x');
      at.searchParams.set('limit', '1');
      if (cursor !== null) at.searchParams.set('cursor', cursor);
      const { data, nextCursor } = await page<Item>(`${at.pathname}${at.search}`, key);
      items.push(...data);
      cursor = nextCursor;
    } while (cursor !== null);
    return items;
  }

  it('are listed for their members, in every order, each on exactly one page', async () => {
    const { userId, key } = await person();
    for (const name of ['b', 'a', 'c']) await api.store.workspaces.createWorkspace(name, userId);
    const names = async (query: string): Promise<string[]> =>
      (await walked<Workspace>(`${WORKSPACES}${query}`, key)).map(({ name }) => name);
    expect(await names('?sortBy=name&sortOrder=asc')).toEqual(['a', 'b', 'c']);
    expect(await names('?sortBy=name&sortOrder=desc')).toEqual(['c', 'b', 'a']);
    expect((await names('')).toSorted()).toEqual(['a', 'b', 'c']);
    expect((await names('?sortBy=updatedAt')).toSorted()).toEqual(['a', 'b', 'c']);
  });

  it('have their number of members and when they changed', async () => {
    const { userId, key } = await person();
    const id = await api.store.workspaces.createWorkspace('Counted', userId);
    await api.store.workspaces.setMember(id, (await person()).userId, 'read');
    const { data } = await api.call<Workspace>('GET', `${WORKSPACES}/${id}`, { key });
    expect(data).toEqual({
      ...{ id, name: 'Counted', logoUrl: null, memberCount: 2 },
      color: expect.stringMatching(/^#[\da-f]{6}$/) as string,
      createdAt: expect.any(String) as string,
      updatedAt: data.createdAt,
    });
    expect((await page<Workspace>(WORKSPACES, key)).data).toEqual([data]);
  });

  it('that accept no personal keys are hidden from lists of personal keys, and refused', async () => {
    const { userId, key } = await person();
    const id = await api.store.workspaces.createWorkspace('Closed', userId);
    await api.store.workspaces.setPersonalKeys(id, false);
    expect((await page<Workspace>(WORKSPACES, key)).data).toEqual([]);
    const refused = await api.call('GET', `${WORKSPACES}/${id}`, { key });
    expect([refused.status, errorIn(refused.body).details?.code]).toEqual([
      403,
      'PERSONAL_API_KEYS_DISABLED',
    ]);
    await api.store.workspaces.setPersonalKeys(id, true);
    const [open] = (await page<Workspace>(WORKSPACES, key)).data;
    expect(open?.id).toBe(id);
    expect(Date.parse(open?.updatedAt ?? '')).toBeGreaterThanOrEqual(Date.parse(open?.createdAt ?? ''));
  });

  it('of a workspace key are its own workspace only', async () => {
    const { userId } = await person();
    const id = await api.store.workspaces.createWorkspace('Keyed', userId);
    const { key } = await api.store.keys.create({ workspaceId: id }, 'workspace');
    expect((await page<Workspace>(WORKSPACES, key)).data.map((each) => each.id)).toEqual([id]);
    expect((await api.call('GET', `${WORKSPACES}/${id}`, { key })).status).toBe(200);
    expect((await api.call('GET', `${WORKSPACES}/${api.workspaceId}`, { key })).status).toBe(404);
  });

  it.each(['', '/members'])('of others are not found, as absent ones%s', async (rest) => {
    const { key } = await person();
    const foreign = await api.call('GET', `${WORKSPACES}/${api.workspaceId}${rest}`, { key });
    const absent = await api.call('GET', `${WORKSPACES}/none${rest}`, { key });
    expect([foreign.status, foreign.body]).toEqual([404, absent.body]);
    expect((await api.call('GET', `${WORKSPACES}/none${rest}`, { key: null })).status).toBe(401);
  });

  it('list their members by address, with roles', async () => {
    const admin = await person('zoe@members.test');
    const reader = await person('abe@members.test');
    const id = await api.store.workspaces.createWorkspace('Team', admin.userId);
    await api.store.workspaces.setMember(id, reader.userId, 'read');
    const path = `${WORKSPACES}/${id}/members`;
    const members = await walked<{ email: string; userId: string }>(path, reader.key);
    expect(members).toEqual([
      {
        userId: reader.userId,
        email: 'abe@members.test',
        name: 'Name of abe@members.test',
        image: null,
        role: 'read',
        isExternal: false,
        joinedAt: expect.any(String) as string,
      },
      expect.objectContaining({ email: 'zoe@members.test', role: 'admin' }),
    ]);
    const { nextCursor } = await page(`${path}?limit=1`, reader.key);
    const other = await api.store.workspaces.createWorkspace('Other', reader.userId);
    const replayed = await api.call('GET', `${WORKSPACES}/${other}/members?cursor=${nextCursor}`, {
      key: reader.key,
    });
    expect(replayed.status).toBe(400);
  });

  it.each([
    '?limit=0',
    '?limit=101',
    '?sortBy=color',
    '?cursor=x',
    `?cursor=${Buffer.from('{"at":[1,2],"of":"x"}').toString('base64url')}`,
    '?all=1',
  ])('refuse the query %s', async (query) => {
    const { status, body } = await api.call('GET', `${WORKSPACES}${query}`);
    expect([status, errorIn(body).code]).toEqual([400, 'BAD_REQUEST']);
  });

  it('refuse the cursor of another order', async () => {
    const { userId, key } = await person();
    for (const name of ['a', 'b']) await api.store.workspaces.createWorkspace(name, userId);
    const { nextCursor } = await page(`${WORKSPACES}?limit=1&sortBy=name`, key);
    expect(
      (await api.call('GET', `${WORKSPACES}?sortBy=createdAt&cursor=${nextCursor}`, { key })).status,
    ).toBe(400);
  });
});
