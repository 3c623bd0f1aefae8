import { randomUUID } from 'node:crypto';
import type { ApiError } from '@heddle/api';
import {
  badRequest,
  conflict,
  cursorCodec,
  AUTHENTICATED_PRINCIPALS,
  notFound,
  operationFactory,
  USER_PRINCIPALS,
  workspace,
} from '@heddle/api/areas';
import * as z from 'zod';
import { isUniqueViolation } from '../store/database.ts';
import { requireEditableSkill, requireSkill, isoNow, databaseOf } from './access.ts';
import type { SkillServices } from './access.ts';
import { grant } from './editors.ts';
import * as schemas from './schemas.ts';
import { addSkill, changeSkill, countSkills, readPageOfSkills, removeSkill } from './store.ts';
import type { SkillInfo, SkillRow } from './tables.ts';

const COMMON_FIELDS = { tag: 'Skills', capability: 'skills.use' } as const;
const READ_FIELDS = {
  ...COMMON_FIELDS,
  scope: 'api:read',
  role: 'read',
  principals: AUTHENTICATED_PRINCIPALS,
} as const;
const WRITE_FIELDS = { ...COMMON_FIELDS, scope: 'api:write', principals: USER_PRINCIPALS } as const;
const emptyObject = z.strictObject({});
const defineOperation = operationFactory<SkillServices>();
const positionCodec = cursorCodec(schemas.pagePosition);

export const listSkills = defineOperation({
  ...READ_FIELDS,
  id: 'listSkills',
  method: 'GET',
  path: '/api/v2/skills',
  summary: 'List skills without their content',
  resource: workspace('query'),
  params: emptyObject,
  query: schemas.listQuery,
  success: [{ status: 200, schema: schemas.skillSummary, isPage: true, description: 'A page of skills' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { query }) {
    const afterPosition = positionCodec.decode(query.cursor, query);
    const { rows, next } = await readPageOfSkills(databaseOf(services), { ...query, afterPosition });
    return { page: rows.map(summaryOf), nextCursor: positionCodec.encode(next, query) };
  },
});

export const createSkill = defineOperation({
  ...WRITE_FIELDS,
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
        const addedSkill = await addSkill(tx, { ...body, id: randomUUID(), now });
        if (!addedSkill) throw nameTakenError(body.name);
        if ((await countSkills(tx, body.workspaceId)) > schemas.MAX_SKILLS)
          throw badRequest(`There are ${schemas.MAX_SKILLS} skills already: delete one that is not used`);
        const key = { workspaceId: body.workspaceId, id: addedSkill.id };
        if (userId !== null) await grant(tx, key, { userId, now });
        await recordAudit({ resourceId: addedSkill.id, details: { name: addedSkill.name } }, tx);
        return addedSkill;
      });
    return { status: 201, data: viewOf(row) };
  },
});

export const getSkill = defineOperation({
  ...READ_FIELDS,
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

export const updateSkill = defineOperation({
  ...WRITE_FIELDS,
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
        const changedSkill = await changeSkill(tx, key, { ...changes, now: isoNow(services) });
        if (!changedSkill) throw notFound('Skill');
        const details = { name: changedSkill.name, fields: Object.keys(changes).toSorted() };
        await recordAudit({ resourceId: key.id, details }, tx);
        return changedSkill;
      })
      .catch((error: unknown) => {
        throw changes.name !== undefined && isUniqueViolation(error) ? nameTakenError(changes.name) : error;
      });
    return { data: viewOf(row) };
  },
});

export const deleteSkill = defineOperation({
  ...WRITE_FIELDS,
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
        const removedSkill = await removeSkill(tx, key);
        if (!removedSkill) throw notFound('Skill');
        await recordAudit({ resourceId: key.id, details: { name: removedSkill.name } }, tx);
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

function nameTakenError(name: string): ApiError {
  return conflict(`A skill named "${name}" already exists in this workspace`);
}
