import { randomUUID } from 'node:crypto';
import type { AreaContext } from '@heddle/api';
import {
  badRequest,
  conflict,
  cursorCodec,
  AUTHENTICATED_PRINCIPALS,
  forbidden,
  noQuery,
  notFound,
  operationFactory,
  USER_PRINCIPALS,
  workflowPath,
  workspace,
} from '@heddle/api/areas';
import { resolveSelectors } from '@heddle/api/pages';
import * as z from 'zod';
import { pageOf } from '../paging.ts';
import type { ServiceStore } from '../store/open.ts';
import type { WorkflowRow } from '../store/schema.ts';
import { workflowResource } from '../workflows/context.ts';
import { requireUnlocked } from '../workflows/folders.ts';
import { hashPassword } from './password.ts';
import * as schemas from './schemas.ts';
import type { ChatRow, Db } from './tables.ts';
import { deploymentView } from './views.ts';

/** Dependencies of the operations of chat deployments. */
export interface ChatServices extends Pick<
  AreaContext,
  'engine' | 'definitions' | 'publicRuns' | 'now' | 'onError'
> {
  db: Db;
  store: Pick<ServiceStore, 'workflows' | 'reservations' | 'database'>;
}

const defineOperation = operationFactory<ChatServices>();
const COMMON_FIELDS = {
  tag: 'Workflows',
  resource: workflowResource,
  params: workflowPath,
  query: noQuery,
} as const;
const ADMIN_FIELDS = { role: 'admin', principals: USER_PRINCIPALS, capability: 'deploy.chat' } as const;
const READ_FIELDS = { scope: 'api:read', errors: [400, 401, 403, 404, 429] } as const;
const WRITE_FIELDS = { scope: 'api:write' } as const;
const PATH = '/api/v2/workflows/{workflowId}/deployments/chat';

const positionCodec = cursorCodec(schemas.position);

export const getChatDeployment = defineOperation({
  ...COMMON_FIELDS,
  ...ADMIN_FIELDS,
  ...READ_FIELDS,
  id: 'getWorkflowChatDeployment',
  method: 'GET',
  path: PATH,
  summary: 'Get the chat deployment of a workflow',
  success: [{ status: 200, schema: schemas.chatDeployment, description: 'The chat deployment' }],
  async handle({ db }, { origin }, workflow) {
    const row = await findChat(db, workflow.id);
    if (!row) throw notFound('Chat deployment');
    return { data: deploymentView(row, workflow, origin) };
  },
});

export const replaceChatDeployment = defineOperation({
  ...COMMON_FIELDS,
  ...ADMIN_FIELDS,
  ...WRITE_FIELDS,
  id: 'replaceWorkflowChatDeployment',
  method: 'PUT',
  path: PATH,
  summary: 'Serve the workflow as a chat, a form, or both',
  audit: { resourceType: 'chat', actions: ['CHAT_DEPLOYED'] },
  body: schemas.chatBody,
  success: [{ status: 200, schema: schemas.chatDeployment, description: 'The pages are served' }],
  errors: [400, 401, 403, 404, 409, 413, 415, 423, 429],
  async handle(services, { body, origin, recordAudit }, workflow) {
    const { db, publicRuns } = services;
    if (!(await publicRuns?.allows(workflow.workspace_id)))
      throw forbidden('PUBLIC_SHARING_NOT_ALLOWED', 'Workflows of this workspace cannot be public');
    await requireValidSelectors(services, workflow, body.outputs);
    // Hashing is slow, so it happens before the transaction.
    const hash = body.password === undefined ? undefined : await hashPassword(body.password);
    const row = await db.transaction().execute(async (tx) => {
      await requireUnlocked(tx, workflow);
      const updatedAt = new Date(services.now()).toISOString();
      const storedRow = await storeDeployment(tx, workflow, { body, hash, updatedAt });
      await recordAudit({ resourceId: storedRow.id, details: { identifier: storedRow.identifier } }, tx);
      return storedRow;
    });
    return { data: deploymentView(row, workflow, origin) };
  },
});

export const deleteChatDeployment = defineOperation({
  ...COMMON_FIELDS,
  ...ADMIN_FIELDS,
  ...WRITE_FIELDS,
  id: 'deleteWorkflowChatDeployment',
  method: 'DELETE',
  path: PATH,
  summary: 'Stop serving the pages of a workflow',
  audit: { resourceType: 'chat', actions: ['CHAT_REMOVED'] },
  success: [{ status: 200, schema: schemas.deletedChat, description: 'The pages are no longer served' }],
  errors: [400, 401, 403, 404, 423, 429],
  async handle({ db }, { recordAudit }, workflow) {
    return db.transaction().execute(async (tx) => {
      await requireUnlocked(tx, workflow);
      const row = await tx
        .deleteFrom('chats')
        .where('workflow_id', '=', workflow.id)
        .returning(['id', 'identifier'])
        .executeTakeFirst();
      if (!row) throw notFound('Chat deployment');
      await recordAudit({ resourceId: row.id, details: { identifier: row.identifier } }, tx);
      return { data: { id: row.id, deleted: true as const } };
    });
  },
});

export const listChatDeployments = defineOperation({
  ...READ_FIELDS,
  id: 'listChatDeployments',
  method: 'GET',
  path: '/api/v2/chat-deployments',
  tag: 'Workflows',
  summary: 'List the chat deployments of a workspace',
  role: 'read',
  principals: AUTHENTICATED_PRINCIPALS,
  resource: workspace('query'),
  params: z.strictObject({}),
  query: schemas.listQuery,
  success: [
    { status: 200, schema: schemas.chatDeployment, isPage: true, description: 'A page of chat deployments' },
  ],
  async handle({ db }, { query, origin }) {
    const { workspaceId, limit } = query;
    const [afterPosition] = positionCodec.decode(query.cursor, { workspaceId }) ?? [];
    const fetchedRows = await db
      .selectFrom('chats')
      .innerJoin('workflows', 'workflows.id', 'chats.workflow_id')
      .selectAll('chats')
      .select(['workflows.active_version', 'workflows.archived_at'])
      .where('chats.workspace_id', '=', workspaceId)
      .where('workflows.archived_at', 'is', null)
      .$if(afterPosition !== undefined, (builder) => builder.where('chats.id', '>', afterPosition ?? ''))
      .orderBy('chats.id')
      .limit(limit + 1)
      .execute();
    const { rows, next } = pageOf(fetchedRows, limit, ({ id }): [string] => [id]);
    return {
      page: rows.map((row) => deploymentView(row, row, origin)),
      nextCursor: next ? positionCodec.encode(next, { workspaceId }) : null,
    };
  },
});

async function findChat(db: Db, workflowId: string): Promise<ChatRow | undefined> {
  return db.selectFrom('chats').selectAll().where('workflow_id', '=', workflowId).executeTakeFirst();
}

/** Throws 400 for a selector that names no block of the live version, 409 for a workflow that is not deployed. */
async function requireValidSelectors(
  services: Pick<ChatServices, 'engine' | 'definitions'>,
  { id }: WorkflowRow,
  outputs: readonly string[],
): Promise<void> {
  const workflow = await services.definitions.find(id);
  if (workflow?.liveVersion === undefined) throw conflict('Workflow is not deployed: deploy it first');
  const blocks = await services.engine.blocks(id, { version: workflow.liveVersion });
  await resolveSelectors(services, outputs, { workflow, blocks });
}

interface Replacement {
  body: z.output<typeof schemas.chatBody>;
  /** The hash of the new password; undefined: the password is unchanged. */
  hash: string | undefined;
  updatedAt: string;
}

/** Stores the deployment. Throws 400 for a missing or unexpected password, 409 for an identifier that is taken. */
async function storeDeployment(
  tx: Db,
  workflow: WorkflowRow,
  { body, hash, updatedAt }: Replacement,
): Promise<ChatRow> {
  const existingChat = await findChat(tx, workflow.id);
  const isProtected = body.authType === 'password';
  if (!isProtected && hash !== undefined) throw badRequest('"password" needs "authType": "password"');
  const password_hash = isProtected ? (hash ?? existingChat?.password_hash ?? null) : null;
  if (isProtected && password_hash === null) throw badRequest('"authType": "password" needs a "password"');
  await claimIdentifier(tx, workflow, body.identifier);
  const row = {
    ...{ identifier: body.identifier, title: body.title, description: body.description },
    ...{ welcome_message: body.welcomeMessage, pages: JSON.stringify([...new Set(body.pages)]) },
    ...{ password_hash, outputs: JSON.stringify(body.outputs), updated_at: updatedAt },
  };
  return tx
    .insertInto('chats')
    .values({
      ...row,
      ...{ id: randomUUID(), workspace_id: workflow.workspace_id, workflow_id: workflow.id },
      created_at: updatedAt,
    })
    .onConflict((builder) => builder.column('workflow_id').doUpdateSet(row))
    .returningAll()
    .executeTakeFirstOrThrow();
}

/**
 * Reserves the identifier for the workspace of the workflow. Throws 409 if another workflow uses the identifier, or if
 * another workspace uses it or has used it before.
 */
async function claimIdentifier(tx: Db, workflow: WorkflowRow, identifier: string): Promise<void> {
  const { id: workflowId, workspace_id } = workflow;
  await tx
    .insertInto('chat_identifiers')
    .values({ identifier, workspace_id })
    .onConflict((builder) => builder.doNothing())
    .execute();
  const owner = await tx
    .updateTable('chat_identifiers')
    // Locks the row, so that a concurrent deployment waits for this one.
    .set((eb) => ({ workspace_id: eb.ref('workspace_id') }))
    .where('identifier', '=', identifier)
    .returning('workspace_id')
    .executeTakeFirstOrThrow();
  const chat = await tx
    .selectFrom('chats')
    .select('workflow_id')
    .where('identifier', '=', identifier)
    .executeTakeFirst();
  const isTaken = owner.workspace_id !== workspace_id || (chat && chat.workflow_id !== workflowId);
  if (isTaken) throw conflict(`Identifier already in use: ${identifier}`);
}
