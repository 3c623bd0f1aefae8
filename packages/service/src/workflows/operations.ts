import type { AnyOperation } from '@heddle/api';
import { versionOperations } from '../deployments/operations.ts';
import type { WorkflowServices } from './context.ts';
import { draftOperations } from './draft-operations.ts';
import { folderOperations } from './folder-operations.ts';
import { lifecycleOperations } from './lifecycle-operations.ts';

/** Returns the operations of workflows, folders and drafts. `createWorkflowV2`, with folders, replaces the API's own. */
export function workflowOperations(services: WorkflowServices): readonly AnyOperation[] {
  return [
    ...folderOperations(services),
    ...lifecycleOperations(services),
    ...draftOperations(services),
    ...versionOperations(),
  ];
}
