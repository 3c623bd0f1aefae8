import type { AnyOperation } from '@heddle/api/areas';
import { describe, expect, it } from 'vitest';
import { errorIn, createTestApi } from '../support/api.ts';
import { GREETING_WORKFLOW } from '../support/api-workflows.ts';
import { requestOf } from '../support/requests.ts';
import { SERVED_OPERATIONS } from '../support/served-operations.ts';

/** The capability of each operation that a host can block: hand-written, not derived from the operations. */
const CAPABILITY_BY_OPERATION: { readonly [id: string]: string } = {
  deployWorkflow: 'deploy.api',
  undeployWorkflow: 'deploy.api',
  activateWorkflowVersion: 'deploy.api',
  updateWorkflowPublicApi: 'public_api.use',
  listSandboxes: 'sandboxes.use',
  createSandbox: 'sandboxes.use',
  getSandbox: 'sandboxes.use',
  updateSandbox: 'sandboxes.use',
  deleteSandbox: 'sandboxes.use',
  listCredentials: 'integrations.manage',
  listCredentialProviders: 'integrations.manage',
  createServiceAccountCredential: 'integrations.manage',
  updateCredential: 'integrations.manage',
  deleteCredential: 'integrations.manage',
  listSkills: 'skills.use',
  createSkill: 'skills.use',
  getSkill: 'skills.use',
  updateSkill: 'skills.use',
  deleteSkill: 'skills.use',
  listSkillEditors: 'skills.use',
  grantSkillEditor: 'skills.use',
  revokeSkillEditor: 'skills.use',
  getWorkflowChatDeployment: 'deploy.chat',
  replaceWorkflowChatDeployment: 'deploy.chat',
  deleteWorkflowChatDeployment: 'deploy.chat',
  setSecret: 'secrets.manage',
  deleteSecret: 'secrets.manage',
};

const checkedCapabilities: (string | undefined)[] = [];
const api = await createTestApi({
  wrapAccess: (storeAccess) => ({
    async check(principal, workspaceId, role, capability) {
      checkedCapabilities.push(capability);
      const decision = await storeAccess.check(principal, workspaceId, role, capability);
      if (decision !== 'granted' || capability === undefined) return decision;
      return 'PERMISSION_GROUP_CAPABILITY_BLOCKED';
    },
  }),
});
const { call, store, workspaceId } = api;
const workflowId = await api.createDraft(GREETING_WORKFLOW);
const otherUserId = await store.workspaces.createUser({ email: 'eve@heddle.test', name: 'Eve' });
const { key: otherKey } = await store.keys.create({ userId: otherUserId }, 'other');

function send(operation: AnyOperation, key = api.key) {
  const { method, path, body } = requestOf(operation, { workflowId, runId: 'none', workspaceId });
  return call(method, path, { key, ...(body !== undefined && { body }) });
}

describe('a host that blocks capabilities', () => {
  it('can block exactly the listed operations', () => {
    const declaredCapabilities = SERVED_OPERATIONS.flatMap(({ id, capability }) =>
      capability ? [[id, capability]] : [],
    );
    expect(Object.fromEntries(declaredCapabilities)).toEqual(CAPABILITY_BY_OPERATION);
  });

  it.each(
    SERVED_OPERATIONS.filter(({ id }) => id in CAPABILITY_BY_OPERATION).map(
      (operation) => [operation.id, operation] as const,
    ),
  )('refuses %s to members with the role, and conceals it from others', async (id, operation) => {
    const response = await send(operation);
    // A record is looked up before its workspace is known.
    if (response.status === 404) expect(operation.resource.kind).toBe('record');
    else {
      expect(response.status).toBe(403);
      expect(errorIn(response.body)).toMatchObject({
        message: `The workspace blocks ${CAPABILITY_BY_OPERATION[id]} for you`,
        details: { code: 'PERMISSION_GROUP_CAPABILITY_BLOCKED' },
      });
    }
    expect(await send(operation, otherKey)).toMatchObject({ status: 404 });
  });

  it('checks no capability for other operations', async () => {
    checkedCapabilities.length = 0;
    expect(await call('GET', `/api/v2/workflows?workspaceId=${workspaceId}`)).toMatchObject({ status: 200 });
    expect(checkedCapabilities).toEqual([undefined]);
  });
});
