import type { Area } from '@heddle/api';
import { compareWorkflowVersions } from '../deployments/operations.ts';
import {
  revertWorkflowVersion,
  rollbackWorkflow,
  updateWorkflowVersion,
} from '../deployments/version-operations.ts';
import {
  activateWorkflowVersion,
  deployWorkflow,
  getWorkflowDeployment,
  getWorkflowVersion,
  listWorkflowVersions,
  undeployWorkflow,
  updateWorkflowPublicApi,
} from '../deployments/live-operations.ts';
import type { ServiceStore } from '../store/open.ts';
import { Triggers } from '../triggers/triggers.ts';
import type { LintSources, WorkflowServices } from './context.ts';
import {
  getWorkflow,
  getWorkflowState,
  listWorkflows,
  replaceWorkflowState,
} from './definition-operations.ts';
import { applyWorkflowOperations, applyWorkflowVariables, inspectWorkflow } from './draft-operations.ts';
import {
  createWorkflowFolder,
  deleteWorkflowFolder,
  listWorkflowFolders,
  relocateWorkflowFolder,
} from './folder-operations.ts';
import {
  createWorkflow,
  deleteWorkflow,
  duplicateWorkflow,
  moveWorkflows,
  restoreWorkflow,
  updateWorkflow,
} from './lifecycle-operations.ts';
import { createRequiredFieldsReader } from './lint/required-fields.ts';
import { WORKFLOW_MIGRATIONS } from './migrations.ts';

export const WORKFLOW_OPERATIONS = {
  listWorkflows,
  createWorkflow,
  getWorkflow,
  updateWorkflow,
  deleteWorkflow,
  restoreWorkflow,
  duplicateWorkflow,
  moveWorkflows,
  listWorkflowFolders,
  createWorkflowFolder,
  relocateWorkflowFolder,
  deleteWorkflowFolder,
  getWorkflowState,
  replaceWorkflowState,
  applyWorkflowOperations,
  applyWorkflowVariables,
  inspectWorkflow,
  getWorkflowDeployment,
  updateWorkflowPublicApi,
  deployWorkflow,
  undeployWorkflow,
  listWorkflowVersions,
  getWorkflowVersion,
  compareWorkflowVersions,
  activateWorkflowVersion,
  rollbackWorkflow,
  updateWorkflowVersion,
  revertWorkflowVersion,
} as const;

/** The options of the area (a module of the API) of workflows. */
export interface WorkflowOptions {
  store: ServiceStore;
  /** Block types that may be added to drafts. Default: the types that the engine supports. */
  types?: readonly string[];
  /** The resources against which references in drafts are checked. Default: the workflows of the store. */
  sources?: LintSources;
  /** Updates the triggers of deployments. Default: no trigger is fired. */
  triggers?: Triggers;
}

/**
 * Returns the area of workflows, with the operations on their definitions, folders, drafts, deployments and versions.
 */
export function workflows({
  store,
  types,
  sources = {},
  triggers = new Triggers(),
}: WorkflowOptions): Area<WorkflowServices, typeof WORKFLOW_OPERATIONS> {
  const readRequiredFields = createRequiredFieldsReader(sources.describeBlocks);
  return {
    name: 'workflows',
    operations: WORKFLOW_OPERATIONS,
    migrations: WORKFLOW_MIGRATIONS,
    services: ({ engine, compat, publicRuns, now, onError }) => ({
      ...{ engine, store, compat, types, sources, triggers, now, readRequiredFields, onError },
      allowsPublicRuns: (workspaceId) => publicRuns?.allows(workspaceId) ?? false,
    }),
  };
}
