import { createEngine } from '@heddle/engine';
import { openServiceStore } from '@heddle/service';
import { sql } from 'kysely';
import { beforeAll, describe, expect, it } from 'vitest';
import { errorIn, tenantOptionsOf, createTestApi } from '../support/api.ts';
import type { CallOptions } from '../support/api.ts';
import { createPostgresDatabase, storesToTest } from '../support/postgres.ts';

interface Skill {
  id: string;
  name: string;
  content?: string;
  readOnly: boolean;
}

const STORE_NAMES = storesToTest('skills');

describe.each(STORE_NAMES)('skills over HTTP on %s', (storeName) => {
  let url: string | undefined;
  beforeAll(async () => {
    url = storeName === 'postgres' ? await createPostgresDatabase() : undefined;
  });

  async function setUp() {
    const store = await openServiceStore(
      url === undefined ? {} : { postgres: { url }, secret: 'x'.repeat(32) },
    );
    const engine = await createEngine(tenantOptionsOf(store));
    let time = Date.parse('2026-01-01T00:00:00Z');
    const api = await createTestApi({ engine, store, now: () => time });
    const { workspaceId } = api;
    const skillPath = (id: string): string => `/api/v2/skills/${id}`;
    const withWorkspaceQuery = (path: string, query: object = {}): string =>
      `${path}?${new URLSearchParams({ workspaceId, ...query }).toString()}`;
    const changeSkill = (id: string, body: object, options: CallOptions = {}) =>
      api.call<Skill>('PATCH', skillPath(id), { body: { workspaceId, ...body }, ...options });
    return {
      ...api,
      skillPath,
      withWorkspaceQuery,
      changeSkill,
      createMember: async (role: 'read' | 'write' | 'admin') => {
        const email = `${crypto.randomUUID()}@x.test`;
        const userId = await store.workspaces.createUser({ email, name: 'Bo' });
        await store.workspaces.setMember(workspaceId, userId, role);
        return { email, userId, key: (await store.keys.create({ userId }, 'member')).key };
      },
      addSkill: (skillName: string, body: object = {}, key = api.key) => {
        time += 1000;
        const skill = {
          workspaceId,
          name: skillName,
          description: `Does ${skillName}.`,
          content: `# ${skillName}`,
        };
        return api.call<Skill>('POST', '/api/v2/skills', { body: { ...skill, ...body }, key });
      },
      listNames: async (query: object = {}, key = api.key) => {
        const { data } = await api.call<Skill[]>('GET', withWorkspaceQuery('/api/v2/skills', query), { key });
        return data.map((skill) => skill.name);
      },
      requestEditors: (id: string, method: 'GET' | 'DELETE' = 'GET', query: object = {}, key = api.key) =>
        api.call<{ email: string; isWorkspaceAdmin: boolean }[]>(
          method,
          withWorkspaceQuery(`${skillPath(id)}/editors`, query),
          { key },
        ),
      addEditor: (id: string, email: string, key = api.key) =>
        api.call('POST', `${skillPath(id)}/editors`, { body: { workspaceId, email }, key }),
    };
  }

  it('are created, read, changed, listed without content and deleted', async () => {
    const api = await setUp();
    const createResponse = await api.addSkill('write-poems');
    expect(createResponse.status).toBe(201);
    expect(createResponse.data).toEqual({
      id: createResponse.data.id,
      name: 'write-poems',
      description: 'Does write-poems.',
      content: '# write-poems',
      readOnly: false,
      createdAt: '2026-01-01T00:00:01.000Z',
      updatedAt: '2026-01-01T00:00:01.000Z',
    });
    const { id } = createResponse.data;
    const changeResponse = await api.changeSkill(id, { content: 'Rhyme.' });
    expect(changeResponse.data).toEqual({ ...createResponse.data, content: 'Rhyme.' });
    expect((await api.call('GET', api.withWorkspaceQuery(api.skillPath(id)))).data).toEqual(
      changeResponse.data,
    );
    const { content: _, ...summary } = changeResponse.data;
    expect((await api.call('GET', api.withWorkspaceQuery('/api/v2/skills'))).data).toEqual([summary]);
    expect((await api.changeSkill(id, {})).status).toBe(400);
    const deleteResponse = await api.call('DELETE', api.withWorkspaceQuery(api.skillPath(id)));
    expect(deleteResponse.data).toEqual({ id, deleted: true });
    for (const response of [
      await api.call('GET', api.withWorkspaceQuery(api.skillPath(id))),
      await api.changeSkill(id, { content: 'x' }),
      await api.call('DELETE', api.withWorkspaceQuery(api.skillPath(id))),
      await api.requestEditors(id),
    ])
      expect(response.status).toBe(404);
    const { rows } = await sql<{
      action: string;
    }>`select action from audit where resource_id = ${id} order by created_at`.execute(api.store.database);
    expect(rows.map(({ action }) => action)).toEqual(['SKILL_CREATED', 'SKILL_UPDATED', 'SKILL_DELETED']);
  });

  it('have names of lower-case letters, digits and hyphens, unique in a workspace', async () => {
    const api = await setUp();
    for (const invalidName of ['', 'Write', 'a b', '-a', 'a-', 'a--b', 'ä', 'a'.repeat(65)])
      expect((await api.addSkill(invalidName)).status, invalidName).toBe(400);
    for (const invalidFields of [
      { content: ' ' },
      { content: 'x'.repeat(50_001) },
      { description: 'a\u0000b' },
    ])
      expect((await api.addSkill('fine', invalidFields)).status).toBe(400);
    const { data } = await api.addSkill('one');
    expect((await api.addSkill('one')).status).toBe(409);
    const { data: secondSkill } = await api.addSkill('two');
    expect((await api.changeSkill(secondSkill.id, { name: 'one' })).status).toBe(409);
    expect((await api.changeSkill(data.id, { name: 'one' })).status).toBe(200);
    expect(await api.listNames({ sortBy: 'name' })).toEqual(['two', 'one']);
  });

  it('can be changed by their editors and workspace admins, and read by other members', async () => {
    const api = await setUp();
    const [reader, writer, admin] = [
      await api.createMember('read'),
      await api.createMember('write'),
      await api.createMember('admin'),
    ];
    expect((await api.addSkill('x', {}, reader.key)).status).toBe(403);
    const { data } = await api.addSkill('mine', {}, writer.key);
    const refusals = [
      await api.changeSkill(data.id, { content: 'theirs' }, { key: reader.key }),
      await api.call('DELETE', api.withWorkspaceQuery(api.skillPath(data.id)), { key: reader.key }),
      await api.addEditor(data.id, reader.email, reader.key),
      await api.requestEditors(data.id, 'DELETE', { email: writer.email }, reader.key),
    ];
    for (const { status, body } of refusals) {
      expect(status).toBe(403);
      expect(errorIn(body).details?.code).toBe('SKILL_EDITOR_ACCESS_REQUIRED');
    }
    expect(await api.listNames({}, reader.key)).toEqual(['mine']);

    expect((await api.addEditor(data.id, reader.email, writer.key)).status).toBe(201);
    expect((await api.addEditor(data.id, reader.email, writer.key)).status).toBe(200);
    expect((await api.changeSkill(data.id, { content: 'ours' }, { key: reader.key })).status).toBe(200);
    const editors = (await api.requestEditors(data.id)).data;
    const owner = editors.find(({ isWorkspaceAdmin, email }) => isWorkspaceAdmin && email !== admin.email);
    expect(editors).toHaveLength(4);
    expect(new Set(editors.map(({ email }) => email))).toEqual(
      new Set([reader.email, writer.email, admin.email, owner?.email]),
    );
    expect((await api.requestEditors(data.id, 'DELETE', { email: reader.email })).data).toEqual({
      email: reader.email,
      revoked: true,
    });
    expect((await api.requestEditors(data.id, 'DELETE', { email: reader.email })).status).toBe(404);
    expect((await api.changeSkill(data.id, { content: 'x' }, { key: reader.key })).status).toBe(403);
    expect((await api.changeSkill(data.id, { content: 'x' }, { key: admin.key })).status).toBe(200);
    // An admin is always an editor.
    await api.store.workspaces.setMember(api.workspaceId, reader.userId, 'admin');
    expect((await api.addEditor(data.id, reader.email)).status).toBe(400);
  });

  it('can have only members as editors, and do not reveal whether other users exist', async () => {
    const api = await setUp();
    const { data } = await api.addSkill('mine');
    await api.store.workspaces.createUser({ email: `${data.id}@elsewhere.test`, name: 'Eve' });
    const [knownResponse, unknownResponse] = [
      await api.addEditor(data.id, `${data.id}@elsewhere.test`),
      await api.addEditor(data.id, 'nobody@elsewhere.test'),
    ];
    expect([knownResponse.status, unknownResponse.status]).toEqual([404, 404]);
    expect(errorIn(knownResponse.body).message).toBe(errorIn(unknownResponse.body).message);
  });

  it('of other workspaces are not found, and workspace keys can only read', async () => {
    const api = await setUp();
    const otherWorkspaceId = await api.store.workspaces.createWorkspace('Other', api.userId);
    const { data } = await api.addSkill('mine');
    const otherPath = `${api.skillPath(data.id)}?workspaceId=${otherWorkspaceId}`;
    expect((await api.call('GET', otherPath)).status).toBe(404);
    expect((await api.call('DELETE', otherPath)).status).toBe(404);
    expect((await api.changeSkill(data.id, { content: 'x', workspaceId: otherWorkspaceId })).status).toBe(
      404,
    );
    expect(await api.listNames({ workspaceId: otherWorkspaceId })).toEqual([]);
    expect((await api.addSkill('mine', { workspaceId: otherWorkspaceId })).status).toBe(201);
    const { key } = await api.store.keys.create({ workspaceId: api.workspaceId }, 'workspace');
    expect(await api.listNames({}, key)).toEqual(['mine']);
    for (const response of [
      await api.addSkill('x', {}, key),
      await api.changeSkill(data.id, { content: 'x' }, { key }),
    ])
      expect(errorIn(response.body).details?.code).toBe('WORKSPACE_KEY_OPERATION_NOT_PERMITTED');
  });

  it('are listed in pages and searched by text; their editors are listed in pages', async () => {
    const api = await setUp();
    for (const name of ['b-1', 'a-1', 'c']) await api.addSkill(name);
    await api.addSkill('d', { description: '100% of A-1' });
    expect(await api.listNames({ search: 'a-1' })).toEqual(['d', 'a-1']);
    expect(await api.listNames({ search: '%' })).toEqual(['d']);
    const readPages = async (path: string, query: object, property: 'name' | 'email'): Promise<string[]> => {
      const items: string[] = [];
      let cursor: string | null = '';
      while (cursor !== null) {
        const pageQuery = { ...query, limit: '2', ...(cursor && { cursor }) };
        const { body } = await api.call('GET', api.withWorkspaceQuery(path, pageQuery));
        const pageBody = body as { data: { [key: string]: string }[]; nextCursor: string | null };
        items.push(...pageBody.data.map((item) => item[property] ?? ''));
        cursor = pageBody.nextCursor;
      }
      return items;
    };
    const nameSortQuery = { sortBy: 'name', sortOrder: 'asc' };
    expect(await readPages('/api/v2/skills', nameSortQuery, 'name')).toEqual(['a-1', 'b-1', 'c', 'd']);
    expect(await readPages('/api/v2/skills', {}, 'name')).toEqual(['d', 'c', 'a-1', 'b-1']);
    const { data } = await api.addSkill('e');
    for (const role of ['admin', 'admin', 'admin', 'read'] as const) await api.createMember(role);
    const emails = await readPages(`/api/v2/skills/${data.id}/editors`, { sortBy: 'name' }, 'email');
    expect(new Set(emails).size).toBe(4);
    expect(emails).toHaveLength(4);
  });
});
