import { randomUUID } from 'node:crypto';
import type { ApiError } from '@heddle/api';
import {
  badRequest,
  conflict,
  cursorCodec,
  AUTHENTICATED_PRINCIPALS,
  notFound,
  operationsOf,
  USER_PRINCIPALS,
  workspace,
} from '@heddle/api/areas';
import * as z from 'zod';
import { isUniqueViolation } from '../store/database.ts';
import { requireEditableSkill, requireSkill, isoNow, databaseOf } from './access.ts';
import type { SkillServices } from './access.ts';
import { grant } from './editors.ts';
import * as schemas from './schemas.ts';
import { addSkill, changeSkill, countSkills, pageOfSkills, removeSkill } from './store.ts';
import type { SkillInfo, SkillRow } from './tables.ts';

const SHARED = { tag: 'Skills', capability: 'skills.use' } as const;
const READ = { ...SHARED, scope: 'api:read', role: 'read', principals: AUTHENTICATED_PRINCIPALS } as const;
const WRITE = { ...SHARED, scope: 'api:write', principals: USER_PRINCIPALS } as const;
const emptyObject = z.strictObject({});
const define = operationsOf<SkillServices>();
const cursors = cursorCodec(schemas.pagePosition);

export const listSkills = define({
  ...READ,
  id: 'listSkills',
  method: 'GET',
  path: '/api/v2/skills',
  summary: 'List skills without their content',
  resource: workspace('query'),
  params: emptyObject,
  query: schemas.listQuery,
  success: [{ status: 200, schema: schemas.skillSummary, page: true, description: 'A page of skills' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { query }) {
    const after = cursors.decode(query.cursor, query);
    const { rows, next } = await pageOfSkills(databaseOf(services), { ...query, after });
    return { page: rows.map(summaryOf), nextCursor: cursors.encode(next, query) };
  },
});

export const createSkill = define({
  ...WRITE,
  role: 'write',
  id: 'createSkill',
  audit: { resourceType: 'skill', actions: ['SKILL_CREATED'] },
  method: 'POST',
  path: '/api/v2/skills',
  summary: 'Create a skill; the caller becomes its editor',
  resource: workspace('body'),
  params: emptyObject,
  query: emptyObject,
  body: schemas.createBody,
  success: [{ status: 201, schema: schemas.skill, description: 'The skill' }],
  errors: [400, 401, 403, 404, 409, 413, 415, 429],
  async handle(services, { body, principal: { userId }, recordAudit }) {
    const now = isoNow(services);
    const row = await databaseOf(services)
      .transaction()
      .execute(async (tx) => {
        const added = await addSkill(tx, { ...body, id: randomUUID(), now });
        if (!added) throw nameTaken(body.name);
        if ((await countSkills(tx, body.workspaceId)) > schemas.MAX_SKILLS)
          throw badRequest(`There are ${schemas.MAX_SKILLS} skills already: delete one that is not used`);
        const key = { workspaceId: body.workspaceId, id: added.id };
        if (userId !== null) await grant(tx, key, { userId, now });
        await recordAudit({ resourceId: added.id, details: { name: added.name } }, tx);
        return added;
      });
    return { status: 201, data: viewOf(row) };
  },
});

export const getSkill = define({
  ...READ,
  id: 'getSkill',
  method: 'GET',
  path: '/api/v2/skills/{skillId}',
  summary: 'Get a skill with its content',
  resource: workspace('query'),
  params: schemas.skillPath,
  query: schemas.workspaceQuery,
  success: [{ status: 200, schema: schemas.skill, description: 'The skill' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { path, query: { workspaceId } }) {
    return { data: viewOf(await requireSkill(services, { workspaceId, id: path.skillId })) };
  },
});

export const updateSkill = define({
  ...WRITE,
  role: 'read',
  id: 'updateSkill',
  audit: { resourceType: 'skill', actions: ['SKILL_UPDATED'] },
  method: 'PATCH',
  path: '/api/v2/skills/{skillId}',
  summary: 'Change a skill',
  resource: workspace('body'),
  params: schemas.skillPath,
  query: emptyObject,
  body: schemas.updateBody,
  success: [{ status: 200, schema: schemas.skill, description: 'The changed skill' }],
  errors: [400, 401, 403, 404, 409, 413, 415, 429],
  async handle(services, { path, body: { workspaceId, ...changes }, principal, recordAudit }) {
    const key = { workspaceId, id: path.skillId };
    await requireEditableSkill(services, principal, key);
    const row = await databaseOf(services)
      .transaction()
      .execute(async (tx) => {
        const changed = await changeSkill(tx, key, { ...changes, now: isoNow(services) });
        if (!changed) throw notFound('Skill');
        const details = { name: changed.name, fields: Object.keys(changes).toSorted() };
        await recordAudit({ resourceId: key.id, details }, tx);
        return changed;
      })
      .catch((error: unknown) => {
        throw changes.name !== undefined && isUniqueViolation(error) ? nameTaken(changes.name) : error;
      });
    return { data: viewOf(row) };
  },
});

export const deleteSkill = define({
  ...WRITE,
  role: 'read',
  id: 'deleteSkill',
  audit: { resourceType: 'skill', actions: ['SKILL_DELETED'] },
  method: 'DELETE',
  path: '/api/v2/skills/{skillId}',
  summary: 'Delete a skill',
  resource: workspace('query'),
  params: schemas.skillPath,
  query: schemas.workspaceQuery,
  success: [{ status: 200, schema: schemas.deletedSkill, description: 'The skill is deleted' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { path, query: { workspaceId }, principal, recordAudit }) {
    const key = { workspaceId, id: path.skillId };
    await requireEditableSkill(services, principal, key);
    await databaseOf(services)
      .transaction()
      .execute(async (tx) => {
        const removed = await removeSkill(tx, key);
        if (!removed) throw notFound('Skill');
        await recordAudit({ resourceId: key.id, details: { name: removed.name } }, tx);
      });
    return { data: { id: key.id, deleted: true } };
  },
});

function summaryOf(row: SkillInfo): z.output<typeof schemas.skillSummary> {
  return {
    id: row.id,
    name: row.name,
    description: row.description,
    readOnly: false,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

function viewOf(row: SkillRow): z.output<typeof schemas.skill> {
  return { ...summaryOf(row), content: row.content };
}

function nameTaken(name: string): ApiError {
  return conflict(`A skill named "${name}" already exists in this workspace`);
}
