import { isEngineError } from '@heddle/core';
import type { RestartPreview } from '@heddle/engine';
import type { AreaContext } from '../../context.ts';
import { USER_PRINCIPALS } from '../../auth/principal.ts';
import { badRequest } from '../../errors.ts';
import { operationFactory } from '../../operation.ts';
import { workflow as workflowResource } from '../../resource.ts';
import { workflowPath } from '../common-schemas.ts';
import { withCallerRunId } from './ids.ts';
import * as schemas from './schemas.ts';
import { draftOf, findSourceRun } from './start.ts';

export const previewRunFromBlock = operationFactory<AreaContext>()({
  id: 'previewWorkflowRunFromBlock',
  method: 'GET',
  path: '/api/v2/workflows/{workflowId}/runs/preview',
  tag: 'Workflow Runs',
  summary: 'Preview what a run from a block would reuse',
  principals: USER_PRINCIPALS,
  scope: 'api:read',
  role: 'write',
  resource: workflowResource,
  params: workflowPath,
  query: schemas.previewQuery,
  repeatableQueryKeys: ['iterations'],
  success: [{ status: 200, schema: schemas.runPreview, description: 'Blocks that would run or be reused' }],
  errors: [400, 401, 403, 404, 409, 429],
  async handle(services, { query }, workflow) {
    const { blockId, sourceRunId } = query;
    const iterations = query.iterations?.map(Number);
    const source = await findSourceRun(services, workflow, sourceRunId);
    const draft = await draftOf(services, workflow);
    const preview = await withCallerRunId(source, async () => {
      try {
        const options = { workflow: draft, ...(iterations && { iterations }) };
        return await services.engine.previewFromBlock(source.engineRunId, blockId, options);
      } catch (error) {
        if (isEngineError(error) && error.code === 'BLOCK_NOT_FOUND') throw badRequest(error.message);
        throw error;
      }
    });
    return { data: { workflowId: workflow.id, sourceRunId, ...toRunPreview(preview) } };
  },
});

function toRunPreview({ blockId, refusal, continuedContainer, rerunBlocks, upstreamBlocks }: RestartPreview) {
  return {
    startBlockId: blockId,
    validation: refusal === null ? { valid: true } : { valid: false, error: refusal },
    rerunBlocks: rerunBlocks.map(({ ran, ...block }) => ({ ...block, executedInSource: ran })),
    upstreamBlocks: upstreamBlocks.map(({ ran, ...block }) => ({
      ...block,
      executedInSource: ran,
      hasCachedOutput: ran,
    })),
    notes: [
      ...(refusal === null ? continuedContainerNotes(continuedContainer) : []),
      ...missingOutputNotes(upstreamBlocks),
    ],
  };
}

function continuedContainerNotes(container: RestartPreview['continuedContainer']): string[] {
  if (!container) return [];
  return [
    `"${container.name}" continues: earlier iterations, and other branches that have ended, keep their results.`,
  ];
}

function missingOutputNotes(upstream: RestartPreview['upstreamBlocks']): string[] {
  const missingNames = upstream.filter(({ ran }) => !ran).map(({ name }) => `"${name}"`);
  return missingNames.length === 0
    ? []
    : [`References to ${missingNames.join(', ')} are empty: the source run has no outputs of these blocks.`];
}
