// A host that serves its workflows and their runs over HTTP, with its own sessions and roles.
import { createApi, execute, runs } from '@heddle/api';
import type { Access, Definition, Definitions } from '@heddle/api/ports';
import { createEngine } from '@heddle/engine';

/** Returns the engine and the API of a host. `roles`: the role of each user in the workspace `looms`. */
export async function createHostApi(workflows: Map<string, Definition>, roles: Record<string, string>) {
  const definitions: Definitions = {
    find: async (id) => workflows.get(id),
    tenant: async (id) => workflows.get(id)?.workspaceId,
    async resolveChild(callerId, id) {
      const [caller, child] = [workflows.get(callerId), workflows.get(id)];
      if (child?.liveVersion === undefined || child.workspaceId !== caller?.workspaceId) return undefined;
      return { workflow: id, version: child.liveVersion };
    },
  };
  const access: Access = {
    async check({ userId }, workspaceId, requiredRole) {
      const ownRole = workspaceId === 'looms' ? roles[userId ?? ''] : undefined;
      if (ownRole === undefined) return 'concealed';
      return ownRole === 'owner' || requiredRole === 'read' ? 'granted' : 'INSUFFICIENT_WORKSPACE_ROLE';
    },
  };
  const { resolveChild, tenant } = definitions;
  const engine = await createEngine({ resolveChild, tenant });
  const areas = [execute(), runs({ only: ['getWorkflowRun', 'cancelRun'] })] as const;
  const authenticator = {
    async authenticate(_credentials: object, headers: Headers) {
      const userId = /(?:^|; )session=(\w+)/.exec(headers.get('cookie') ?? '')?.[1];
      const session = { kind: 'session', workspaceId: null, scopes: ['api:write'], expiresAt: null } as const;
      return userId === undefined ? undefined : { ...session, credentialId: userId, userId };
    },
  };
  const ports = { definitions, access };
  return {
    engine,
    api: await createApi({ engine, ports, areas, authenticator, basePath: '/internal/heddle' }),
  };
}
