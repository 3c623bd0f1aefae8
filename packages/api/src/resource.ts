import type { AreaContext } from './context.ts';
import type { Principal } from './auth/principal.ts';
import type { Definition } from './ports.ts';

/** The input of a call, as the operation's schemas have parsed it. */
export interface ResourceCall {
  principal: Principal;
  path: object;
  query: object;
  body: unknown;
}

/**
 * The resource of a call, with the workspaces and organizations that it belongs to: the caller needs access to all of
 * them.
 */
export interface LocatedResource<Value> {
  value: Value;
  workspaceIds: readonly string[];
  /** Absent: none. */
  organizationIds?: readonly string[];
}

/**
 * The lookup of an operation's resource. The handler gets the resource only after the caller's access has been checked.
 */
export interface Resource<Value = unknown, Services = unknown> {
  kind: 'workflow' | 'workspace' | 'organization' | 'record' | 'none';
  /** The beginning of the 404 message, both for callers without access and for a resource that does not exist. */
  displayName: string;
  /** True if archived workflows are also found. */
  includesArchived?: true;
  /** Returns the resource; undefined when there is none. */
  find(
    call: ResourceCall,
    services: Services,
    context: AreaContext,
  ): Promise<LocatedResource<Value> | undefined>;
}

/** The operation acts on no resource: it concerns the caller. */
export const noResource: Resource<undefined> = {
  kind: 'none',
  displayName: 'Resource',
  find: () => Promise.resolve({ value: undefined, workspaceIds: [] }),
};

/** Returns the lookup of the workspace whose id is `workspaceId` in this part of the call. The value is the id. */
export function workspace(part: 'path' | 'query' | 'body'): Resource<string> {
  return {
    kind: 'workspace',
    displayName: 'Workspace',
    find(call) {
      const { workspaceId } = call[part] as { workspaceId: string };
      return Promise.resolve({ value: workspaceId, workspaceIds: [workspaceId] });
    },
  };
}

/**
 * Returns the lookup of the organization whose id is `organizationId` in this part of the call. The value is the id.
 * Workspace keys have no access.
 */
export function organization(part: 'path' | 'query' | 'body'): Resource<string> {
  return {
    kind: 'organization',
    displayName: 'Organization',
    find(call) {
      const { organizationId } = call[part] as { organizationId: string };
      return Promise.resolve({ value: organizationId, workspaceIds: [], organizationIds: [organizationId] });
    },
  };
}

/** The lookup of the workflow whose id is `workflowId` in the path, through the port `definitions`. */
export const workflow: Resource<Definition> = {
  kind: 'workflow',
  displayName: 'Workflow',
  async find({ path }, _services, { definitions }) {
    const definition = await definitions.find((path as { workflowId: string }).workflowId);
    if (!definition || definition.isArchived) return undefined;
    return { value: definition, workspaceIds: [definition.workspaceId] };
  },
};

/** Returns the lookup of a resource that the area itself finds, with `find`. */
export function areaResource<Value, Services>(
  displayName: string,
  find: (
    call: ResourceCall,
    services: Services,
    context: AreaContext,
  ) => Promise<LocatedResource<Value> | undefined>,
): Resource<Value, Services> {
  return { kind: 'record', displayName, find };
}
