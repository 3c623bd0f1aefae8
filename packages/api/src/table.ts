import {
  cancelExecution,
  executeLegacy,
  getExecution,
  getJob,
  resumeExecution,
} from './areas/legacy/operations.ts';
import { getUsageLimits } from './areas/legacy/usage-limits.ts';
import {
  getPauseContext,
  getPausedExecution,
  getPausedExecutionByResumePath,
  listPausedExecutions,
} from './areas/legacy/paused.ts';
import { streamExecution } from './areas/legacy/stream.ts';
import { getApiMeta } from './areas/meta/operations.ts';
import { downloadRunFile } from './areas/runs/download.ts';
import { executeWorkflow } from './areas/runs/execute.ts';
import { cancelRun, getWorkflowRun, listWorkflowRuns } from './areas/runs/operations.ts';
import { previewRunFromBlock } from './areas/runs/preview.ts';
import { resumeRun } from './areas/runs/resume.ts';
import {
  activateWorkflowVersion,
  deployWorkflow,
  getWorkflowDeployment,
  getWorkflowVersion,
  listWorkflowVersions,
  undeployWorkflow,
  updateWorkflowPublicApi,
} from './areas/workflows/deployments.ts';
import {
  createWorkflow,
  getWorkflow,
  getWorkflowState,
  listWorkflows,
  replaceWorkflowState,
} from './areas/workflows/operations.ts';
import type { AnyOperation } from './operation.ts';

/** Every operation by function name. Routes, access checks, OpenAPI and tests read this table. */
export const OPERATIONS = {
  getApiMeta,
  listWorkflows,
  createWorkflow,
  getWorkflow,
  getWorkflowState,
  replaceWorkflowState,
  getWorkflowDeployment,
  updateWorkflowPublicApi,
  deployWorkflow,
  undeployWorkflow,
  listWorkflowVersions,
  getWorkflowVersion,
  activateWorkflowVersion,
  executeWorkflow,
  listWorkflowRuns,
  previewRunFromBlock,
  getWorkflowRun,
  downloadRunFile,
  resumeRun,
  cancelRun,
  executeLegacy,
  getExecution,
  cancelExecution,
  streamExecution,
  listPausedExecutions,
  getPausedExecution,
  getPausedExecutionByResumePath,
  getPauseContext,
  resumeExecution,
  getJob,
  getUsageLimits,
} as const satisfies { [name: string]: AnyOperation };

export const ALL_OPERATIONS: readonly AnyOperation[] = Object.values(OPERATIONS);
