import { ApiError } from '@heddle/api';
import type { JsonObject } from '@heddle/core';
import * as z from 'zod';
import { defineOperation, READ_FIELDS, READ_ERRORS, workflowResource } from '../workflows/context.ts';
import { versionPath } from '../workflows/draft-schemas.ts';
import { readGraph } from '../workflows/graph.ts';
import { workflowPath } from '../workflows/schemas.ts';
import { compareGraphs } from './compare.ts';
import type { ComparedGraph } from './compare.ts';

const versionNumber = versionPath.shape.version;

const compareQuery = z.strictObject({
  base: z.union([versionNumber, z.literal('active')]).describe('A version, or the live one'),
  target: z
    .union([versionNumber, z.enum(['active', 'draft'])])
    .default('draft')
    .describe('A version, the live one, or the draft'),
});

const names = z.array(z.string());
const block = z.strictObject({ id: z.string(), type: z.string(), name: z.string() });
const edge = z.strictObject({
  source: z.string(),
  target: z.string(),
  sourceHandle: z.string().nullable(),
  targetHandle: z.string().nullable(),
});
const entryDifference = z.strictObject({ added: names, removed: names, changed: names });

const difference = z.strictObject({
  id: z.string(),
  base: z.string(),
  target: z.string(),
  identical: z.boolean(),
  blocks: z.strictObject({
    added: z.array(block),
    removed: z.array(block),
    changed: z.array(z.strictObject({ ...block.shape, subBlocks: names, fields: names })),
  }),
  edges: z.strictObject({ added: z.array(edge), removed: z.array(edge) }),
  loops: entryDifference,
  parallels: entryDifference,
  variables: entryDifference,
});

export const compareWorkflowVersions = defineOperation({
  ...READ_FIELDS,
  id: 'compareWorkflowVersions',
  method: 'GET',
  path: '/api/v2/workflows/{workflowId}/versions/compare',
  summary: 'Compare two versions, or a version and the draft',
  resource: workflowResource,
  params: workflowPath,
  query: compareQuery,
  success: [{ status: 200, schema: difference, description: 'How the target differs from the base' }],
  errors: READ_ERRORS,
  async handle({ store }, { query: { base, target } }, row) {
    const stateOf = async (selector: string): Promise<string> => {
      if (selector === 'draft') return row.state;
      const version = selector === 'active' ? row.active_version : Number(selector);
      const versionRow = version === null ? undefined : await store.workflows.findVersion(row.id, version);
      if (versionRow) return versionRow.state;
      throw new ApiError(
        404,
        selector === 'active' ? 'The workflow has no live version' : 'Version not found',
      );
    };
    const [baseGraph, targetGraph] = [graphOf(await stateOf(base)), graphOf(await stateOf(target))];
    return { data: { id: row.id, base, target, ...compareGraphs(baseGraph, targetGraph) } };
  },
});

function graphOf(state: string): ComparedGraph {
  const { blocks, edges, loops, parallels, variables } = readGraph(state) as unknown as ComparedGraph;
  return { blocks: blocks as JsonObject, edges, loops, parallels, variables };
}
