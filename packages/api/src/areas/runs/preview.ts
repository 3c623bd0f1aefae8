import { isEngineError } from '@heddle/core';
import type { RestartPreview } from '@heddle/engine';
import { badRequest } from '../../errors.ts';
import { defineOperation } from '../../operation.ts';
import { workflowPath } from '../shapes.ts';
import { expectWorkflow } from '../workflows/operations.ts';
import { withCallerId } from './ids.ts';
import * as schemas from './schemas.ts';
import { draftOf, sourceRun } from './start.ts';

export const previewRunFromBlock = defineOperation({
  id: 'previewWorkflowRunFromBlock',
  method: 'GET',
  path: '/api/v2/workflows/{workflowId}/runs/preview',
  tag: 'Workflow Runs',
  summary: 'Preview what a run from a block would reuse',
  scope: 'api:read',
  role: 'write',
  workspaceKeys: false,
  resource: 'workflow',
  params: workflowPath,
  query: schemas.previewQuery,
  success: [{ status: 200, schema: schemas.runPreview, description: 'What would run again, and what not' }],
  errors: [400, 401, 403, 404, 409, 429],
  async handle(services, { query }, workflow) {
    const row = expectWorkflow(workflow);
    const { blockId, sourceRunId } = query;
    const source = await sourceRun(services, row, sourceRunId);
    const draft = draftOf(row, services.compat);
    const preview = await withCallerId(source, async () => {
      try {
        return await services.engine.previewFromBlock(source.engineId, blockId, { workflow: draft });
      } catch (error) {
        if (isEngineError(error) && error.code === 'BLOCK_NOT_FOUND') throw badRequest(error.message);
        throw error;
      }
    });
    return { data: { workflowId: row.id, sourceRunId, ...shown(preview) } };
  },
});

function shown({ blockId, refusal, rerun, upstream }: RestartPreview) {
  return {
    startBlockId: blockId,
    validation: refusal === null ? { valid: true } : { valid: false, error: refusal },
    rerunBlocks: rerun.map(({ ran, ...block }) => ({ ...block, executedInSource: ran })),
    upstreamBlocks: upstream.map(({ ran, ...block }) => ({
      ...block,
      executedInSource: ran,
      hasCachedOutput: ran,
    })),
    notes: notesOf(upstream),
  };
}

function notesOf(upstream: RestartPreview['upstream']): string[] {
  const missing = upstream.filter(({ ran }) => !ran).map(({ name }) => `"${name}"`);
  return missing.length === 0
    ? []
    : [`References to ${missing.join(', ')} are empty: the source run has no outputs of them.`];
}
