import { beforeAll, describe, it } from 'vitest';
import type * as draftEdits from '../support/draft-edits.ts';
import { expectLinear } from './linear.ts';

let drafts: typeof draftEdits;

beforeAll(async () => {
  drafts = await import('../support/draft-edits.ts');
});

describe('the largest batch of operations takes time at most proportional to the size of the draft', () => {
  it('with containers that form a cycle', async () => {
    const { block, edit, graphOf, parentData } = drafts;
    await expectLinear({
      size: 500,
      make: (n) => ({
        graph: graphOf(
          Array.from({ length: n }, (_, index) =>
            block(`L${index}`, 'loop', parentData(`L${(index + 1) % n}`)),
          ),
        ),
        operations: Array.from({ length: 200 }, (_, index) => ({
          operation_type: 'insert_into_subflow',
          block_id: `L${index % n}`,
          params: { subflowId: `L${(index + Math.floor(n / 4)) % n}` },
        })),
      }),
      run: ({ graph, operations }) => edit(graph, operations),
    });
  });

  it('with very many edges', async () => {
    const { block, createEditOperation, edge, edit, graphOf } = drafts;
    const errorTargets = Array.from({ length: 50 }, (_, index) => `b${index + 10}`);
    const operations = Array.from({ length: 20 }, (_, index) =>
      createEditOperation(`b${index % 5}`, { connections: { error: errorTargets } }),
    );
    await expectLinear({
      size: 500,
      make: (n) => {
        const blocks = Array.from({ length: n }, (_, index) => block(`b${index}`, 'function'));
        const edges = Array.from({ length: Math.floor(4.5 * n) }, (_, index) =>
          edge(`b${index % 5}`, `b${Math.floor(index / 5) + 10}`),
        );
        return graphOf(blocks, edges);
      },
      run: (graph) => edit(graph, operations),
    });
  });
});
