import * as z from 'zod';
import type { Area } from '../area.ts';
import { pickOperations } from '../area.ts';
import type { PrincipalKind } from '../auth/principal.ts';
import type { AreaContext } from '../context.ts';
import { operationFactory } from '../operation.ts';
import { noResource } from '../resource.ts';
import {
  cancelExecution,
  executeLegacy,
  getExecution,
  getJob,
  resumeExecution,
} from './legacy/operations.ts';
import {
  getPauseContext,
  getPausedExecution,
  getPausedExecutionByResumePath,
  listPausedExecutions,
} from './legacy/paused.ts';
import { streamExecution } from './legacy/stream.ts';
import { getUsageLimits } from './legacy/usage-limits.ts';
import { downloadRunFile } from './runs/download.ts';
import { executeWorkflow } from './runs/execute.ts';
import { cancelRun, getWorkflowRun, listWorkflowRuns } from './runs/operations.ts';
import { previewRunFromBlock } from './runs/preview.ts';
import { rerunWorkflowRun } from './runs/rerun.ts';
import { resumeRun } from './runs/resume.ts';
import { noQuery, timestamp } from './common-schemas.ts';

const EXECUTE_OPERATIONS = { executeWorkflow } as const;

const RUN_OPERATIONS = {
  listWorkflowRuns,
  previewRunFromBlock,
  getWorkflowRun,
  downloadRunFile,
  resumeRun,
  cancelRun,
  rerunRun: rerunWorkflowRun,
} as const;

const LEGACY_OPERATIONS = {
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
} as const;

const credential = z.object({
  keyType: z.enum(['personal', 'workspace', 'oauth_access_token']),
  expiresAt: timestamp.nullable(),
  v2Enabled: z.boolean(),
});

const KEY_TYPES: { [kind in PrincipalKind]?: string } = {
  personal: 'personal',
  workspace: 'workspace',
  oauth: 'oauth_access_token',
};

const getApiMeta = operationFactory<unknown>()({
  id: 'getApiMeta',
  method: 'GET',
  path: '/api/v2/meta',
  tag: 'Meta',
  summary: 'Get the kind and expiry of the credential',
  scope: 'api:read',
  role: 'read',
  principals: ['personal', 'workspace', 'oauth'],
  resource: noResource,
  params: z.strictObject({}),
  query: noQuery,
  success: [{ status: 200, schema: credential, description: 'The credential' }],
  errors: [400, 401, 403, 429],
  handle(_services, { principal }) {
    const { kind, expiresAt } = principal;
    return Promise.resolve({ data: { keyType: KEY_TYPES[kind], expiresAt, v2Enabled: true } });
  },
});

const META_OPERATIONS = { getApiMeta } as const;

/** Returns the area (module of API operations) that executes workflows. */
export function execute(): Area<AreaContext, typeof EXECUTE_OPERATIONS> {
  return { name: 'execute', operations: EXECUTE_OPERATIONS, services: (context) => context };
}

/**
 * Returns the area of runs: their states, results and files, and the operations that resume, cancel, preview and rerun
 * them. `only`: the operations to serve; default: all.
 */
export function runs<Name extends keyof typeof RUN_OPERATIONS = keyof typeof RUN_OPERATIONS>(
  options: { only?: readonly Name[] } = {},
): Area<AreaContext, Pick<typeof RUN_OPERATIONS, Name>> {
  return {
    name: 'runs',
    operations: pickOperations(RUN_OPERATIONS, options.only),
    services: (context) => context,
  };
}

/** Returns the area of the legacy API. `hasResumePage`: the host serves the page on which pauses are answered. */
export function legacy({ hasResumePage = false }: { hasResumePage?: boolean } = {}): Area<
  AreaContext & { hasResumePage: boolean },
  typeof LEGACY_OPERATIONS
> {
  return {
    name: 'legacy',
    operations: LEGACY_OPERATIONS,
    services: (context) => ({ ...context, hasResumePage }),
  };
}

/** Returns the area that describes the credential of the caller. */
export function meta(): Area<AreaContext, typeof META_OPERATIONS> {
  return { name: 'meta', operations: META_OPERATIONS, services: (context) => context };
}
