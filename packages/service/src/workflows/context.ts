import type { Engine, TenantEnvironments } from '@heddle/engine';
import { AUTHENTICATED_PRINCIPALS, conflict, operationFactory } from '@heddle/api/areas';
import type { Operation, Resource } from '@heddle/api/areas';
import { typeNames, typeTable } from '@heddle/core/drafts';
import type * as z from 'zod';
import type { BlockDescription } from '../catalog/catalog.ts';
import type { ServiceStore } from '../store/open.ts';
import type { Triggers } from '../triggers/triggers.ts';
import type { WorkflowRow } from '../store/schema.ts';
import { requireUnlocked } from './folders.ts';
import type { Db } from './folders.ts';
import { idsOf } from './graph.ts';
import type { Graph } from './graph.ts';
import type { RequiredFields } from './lint/required-fields.ts';

/**
 * The data against which drafts are checked, besides the workflows of the store. A check whose data is absent is
 * skipped.
 */
export interface LintSources {
  /** The block types with their required fields. */
  describeBlocks?: () => Promise<readonly BlockDescription[]>;
  /** Lists the names of the values that the engine resolves for a workspace. */
  environments?: Pick<TenantEnvironments, 'names'>;
  /** True if the service has the operations of sandboxes. */
  hasSandboxes?: boolean;
  /** The tools that agents can call. */
  tools?: readonly { id: string }[];
}

/** Dependencies of the operations of workflows. */
export interface WorkflowServices {
  engine: Pick<Engine, 'check' | 'deploy' | 'triggers'>;
  store: Pick<ServiceStore, 'database' | 'workflows' | 'reservations'>;
  /** True if problems that older engines tolerate are reported only as warnings. */
  compat: boolean;
  /** Returns whether a workspace may have public workflows. */
  allowsPublicRuns: (workspaceId: string) => Promise<boolean> | boolean;
  /** Block types that may be added to drafts. Default: the types that the engine supports. */
  types?: readonly string[] | undefined;
  sources: LintSources;
  triggers: Triggers;
  /** Returns the required fields of block types. */
  readRequiredFields: () => Promise<RequiredFields | undefined>;
  /** Reports errors that reach no caller. */
  onError: (error: unknown) => void;
  now: () => number;
}

export const defineOperation = operationFactory<WorkflowServices>();

/**
 * Defines an operation that changes the workflow in its path. It responds with 423 if a folder that contains the
 * workflow is locked, before the handler does its work. The handler's transaction checks again: see `changeIfUnlocked`.
 */
export function defineChangeOperation<
  const Path extends z.ZodObject,
  const Query extends z.ZodObject,
  const Body extends z.ZodType,
>(
  operation: Operation<WorkflowServices, WorkflowRow, Path, Query, Body>,
): Operation<WorkflowServices, WorkflowRow, Path, Query, Body> {
  return {
    ...operation,
    async handle(services, call, row) {
      await requireUnlocked(databaseOf(services), row);
      return operation.handle(services, call, row);
    },
  };
}

export const READ_FIELDS = {
  tag: 'Workflows',
  scope: 'api:read',
  role: 'read',
  principals: AUTHENTICATED_PRINCIPALS,
} as const;
export const WRITE_FIELDS = {
  tag: 'Workflows',
  scope: 'api:write',
  role: 'write',
  principals: AUTHENTICATED_PRINCIPALS,
} as const;

/** The error statuses of operations that read, and of those that write. */
export const READ_ERRORS = [400, 401, 403, 404, 429] as const;
export const WRITE_ERRORS = [400, 401, 403, 404, 409, 413, 415, 423, 429] as const;

/** Returns the audit declaration of an operation that records actions on a workflow. */
export function auditActions(...actions: readonly string[]) {
  return { audit: { resourceType: 'workflow', actions } } as const;
}

/** The workflow that `workflowId` in the path names, with its draft, even if it is archived. */
export const anyWorkflowResource: Resource<WorkflowRow, Pick<WorkflowServices, 'store'>> = {
  kind: 'workflow',
  displayName: 'Workflow',
  includesArchived: true,
  async find({ path }, { store }) {
    const row = await store.workflows.find((path as { workflowId: string }).workflowId);
    return row && { value: row, workspaceIds: [row.workspace_id] };
  },
};

/** The workflow that `workflowId` in the path names, with its draft. Archived workflows are not found. */
export const workflowResource: Resource<WorkflowRow, Pick<WorkflowServices, 'store'>> = {
  kind: 'workflow',
  displayName: 'Workflow',
  async find(...call) {
    const match = await anyWorkflowResource.find(...call);
    return match?.value.archived_at === null ? match : undefined;
  },
};

/** Maximum number of ids that the message of a conflict names. */
const MAX_SHOWN_IDS = 10;

/** How a draft is replaced. */
interface Replacement<EditResult> {
  /** Returns the new draft. `state`: the stored draft as JSON text. */
  edit: (state: string) => EditResult;
  /** True if the new draft is only checked, and not stored. */
  dryRun?: boolean;
  recordAudit: (tx: unknown) => Promise<void>;
  /** The message for ids that another workflow of the workspace uses. */
  conflictMessage: string;
}

/** Replaces a draft. Returns the result of `edit` and the new draft as JSON. Throws 409 for ids of another workflow. */
export async function replaceDraft<EditResult extends { graph: Graph }>(
  { store }: Pick<WorkflowServices, 'store'>,
  row: WorkflowRow,
  { edit, dryRun = false, recordAudit, conflictMessage }: Replacement<EditResult>,
): Promise<EditResult & { state: string }> {
  const applyEdit = (state: string) => {
    const editResult = edit(state);
    return { ...editResult, state: JSON.stringify(editResult.graph), ids: idsOf(editResult.graph) };
  };
  let result = dryRun ? applyEdit(row.state) : undefined;
  const takenIds = result
    ? await store.workflows.findTakenIds(row, result.ids)
    : await store.workflows.replaceState(row, (state) => (result = applyEdit(state)), recordAudit);
  if (takenIds.length > 0)
    throw conflict(`${conflictMessage}: ${takenIds.slice(0, MAX_SHOWN_IDS).join(', ')}`);
  if (!result) throw new Error('The draft was not replaced.');
  return result;
}

/** Returns the database with the tables of this module. */
export function databaseOf({ store }: Pick<WorkflowServices, 'store'>): Db {
  return store.database as Db;
}

export function currentTime({ now }: WorkflowServices): string {
  return new Date(now()).toISOString();
}

export function addableBlockTypes({ types }: WorkflowServices): ReadonlySet<string> {
  return new Set(types ?? [...typeNames(typeTable()), 'note']);
}
