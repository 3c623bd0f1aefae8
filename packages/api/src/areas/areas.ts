import * as z from 'zod';
import type { Area } from '../area.ts';
import { pickOperations } from '../area.ts';
import type { PrincipalKind } from '../auth/principal.ts';
import type { AreaContext } from '../context.ts';
import { operationsOf } from '../operation.ts';
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
import { noQuery, timestamp } from './shapes.ts';

const EXECUTE = { executeWorkflow } as const;

const RUNS = {
  listWorkflowRuns,
  previewRunFromBlock,
  getWorkflowRun,
  downloadRunFile,
  resumeRun,
  cancelRun,
  rerunRun: rerunWorkflowRun,
} as const;

const LEGACY = {
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

const getApiMeta = operationsOf<unknown>()({
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

const META = { getApiMeta } as const;

/** Returns the area (module of API operations) that executes workflows. */
export function execute(): Area<AreaContext, typeof EXECUTE> {
  return { name: 'execute', operations: EXECUTE, services: (context) => context };
}

/**
 * Returns the area of runs: their states, results and files, and the operations that resume, cancel, preview and rerun
 * them. `only`: the operations to serve; default: all.
 */
export function runs<Name extends keyof typeof RUNS = keyof typeof RUNS>(
  options: { only?: readonly Name[] } = {},
): Area<AreaContext, Pick<typeof RUNS, Name>> {
  return { name: 'runs', operations: pickOperations(RUNS, options.only), services: (context) => context };
}

/** Returns the area of the legacy API. `hasResumePage`: the host serves the page on which pauses are answered. */
export function legacy({ hasResumePage = false }: { hasResumePage?: boolean } = {}): Area<
  AreaContext & { hasResumePage: boolean },
  typeof LEGACY
> {
  return { name: 'legacy', operations: LEGACY, services: (context) => ({ ...context, hasResumePage }) };
}

/** Returns the area that describes the credential of the caller. */
export function meta(): Area<AreaContext, typeof META> {
  return { name: 'meta', operations: META, services: (context) => context };
}
