import {
  badRequest,
  cursorCodec,
  AUTHENTICATED_PRINCIPALS,
  notFound,
  operationFactory,
  USER_PRINCIPALS,
  workspace,
} from '@heddle/api/areas';
import * as z from 'zod';
import { requireEditableSkill, requireSkill, isoNow, databaseOf } from './access.ts';
import type { SkillServices } from './access.ts';
import { countGrants, grant, findMemberWithEmail, readPageOfEditors, revoke } from './editors.ts';
import type { SkillEditor } from './editors.ts';
import * as schemas from './schemas.ts';
import { lockSkill } from './store.ts';

const COMMON_FIELDS = {
  tag: 'Skills',
  capability: 'skills.use',
  role: 'read',
  path: '/api/v2/skills/{skillId}/editors',
  params: schemas.skillPath,
} as const;
const WRITE_FIELDS = { ...COMMON_FIELDS, scope: 'api:write', principals: USER_PRINCIPALS } as const;
const defineOperation = operationFactory<SkillServices>();
const positionCodec = cursorCodec(schemas.pagePosition);

export const listSkillEditors = defineOperation({
  ...COMMON_FIELDS,
  scope: 'api:read',
  principals: AUTHENTICATED_PRINCIPALS,
  id: 'listSkillEditors',
  method: 'GET',
  summary: 'List who may change a skill: admins of the workspace, and members with the right to change it',
  resource: workspace('query'),
  query: schemas.editorsQuery,
  success: [{ status: 200, schema: schemas.editor, isPage: true, description: 'A page of editors' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { path, query }) {
    const key = { workspaceId: query.workspaceId, id: path.skillId };
    const filters = { ...query, ...path };
    const afterPosition = positionCodec.decode(query.cursor, filters);
    await requireSkill(services, key);
    const { editors, next } = await readPageOfEditors(databaseOf(services), key, { ...query, afterPosition });
    return { page: editors.map(viewOf), nextCursor: positionCodec.encode(next, filters) };
  },
});

export const grantSkillEditor = defineOperation({
  ...WRITE_FIELDS,
  id: 'grantSkillEditor',
  audit: { resourceType: 'skill', actions: ['SKILL_EDITOR_GRANTED'] },
  method: 'POST',
  summary: 'Let a member of the workspace change a skill',
  resource: workspace('body'),
  query: z.strictObject({}),
  body: schemas.editorBody,
  success: [
    { status: 200, schema: schemas.editor, description: 'The member was an editor already' },
    { status: 201, schema: schemas.editor, description: 'The new editor' },
  ],
  errors: [400, 401, 403, 404, 413, 415, 429],
  async handle(services, { path, body: { workspaceId, email }, principal, recordAudit }) {
    const key = { workspaceId, id: path.skillId };
    await requireEditableSkill(services, principal, key);
    const member = await requireNonAdminMember(services, { workspaceId, email });
    const { userId } = member;
    const isNew = await databaseOf(services)
      .transaction()
      .execute(async (tx) => {
        if (!(await lockSkill(tx, key))) throw notFound('Skill');
        const isAdded = await grant(tx, key, { userId, now: isoNow(services) });
        if (!isAdded) return false;
        if ((await countGrants(tx, key)) > schemas.MAX_EDITORS)
          throw badRequest(`The skill has ${schemas.MAX_EDITORS} editors already: revoke one`);
        await recordAudit({ resourceId: key.id, details: { userId } }, tx);
        return true;
      });
    return { status: isNew ? 201 : 200, data: viewOf(member) };
  },
});

export const revokeSkillEditor = defineOperation({
  ...WRITE_FIELDS,
  id: 'revokeSkillEditor',
  audit: { resourceType: 'skill', actions: ['SKILL_EDITOR_REVOKED'] },
  method: 'DELETE',
  summary: 'Revoke the right of a member to change a skill',
  resource: workspace('query'),
  query: schemas.editorQuery,
  success: [{ status: 200, schema: schemas.revokedEditor, description: 'The member is no longer an editor' }],
  errors: [400, 401, 403, 404, 429],
  async handle(services, { path, query: { workspaceId, email }, principal, recordAudit }) {
    const key = { workspaceId, id: path.skillId };
    await requireEditableSkill(services, principal, key);
    const { userId } = await requireNonAdminMember(services, { workspaceId, email });
    await databaseOf(services)
      .transaction()
      .execute(async (tx) => {
        if (!(await revoke(tx, key, userId))) throw notFound('Editor');
        await recordAudit({ resourceId: key.id, details: { userId } }, tx);
      });
    return { data: { email, revoked: true } };
  },
});

/** Returns the member with this email address. Throws 404 if the workspace has none, and 400 for an admin. */
async function requireNonAdminMember(
  services: SkillServices,
  { workspaceId, email }: { workspaceId: string; email: string },
): Promise<SkillEditor> {
  const member = await findMemberWithEmail(databaseOf(services), workspaceId, email);
  if (!member) throw notFound('Member');
  if (member.isWorkspaceAdmin)
    throw badRequest('A workspace admin is an editor of all skills, and cannot be granted or revoked');
  return member;
}

function viewOf({ email, name, isWorkspaceAdmin }: SkillEditor): z.output<typeof schemas.editor> {
  return { email, name, image: null, isWorkspaceAdmin };
}
