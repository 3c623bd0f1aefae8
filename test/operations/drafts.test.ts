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
        cycle: graphOf(
          Array.from({ length: n }, (_, at) => block(`L${at}`, 'loop', parentData(`L${(at + 1) % n}`))),
        ),
        operations: Array.from({ length: 200 }, (_, at) => ({
          operation_type: 'insert_into_subflow',
          block_id: `L${at % n}`,
          params: { subflowId: `L${(at + Math.floor(n / 4)) % n}` },
        })),
      }),
      pass: ({ cycle, operations }) => edit(cycle, operations),
    });
  });

  it('with very many edges', async () => {
    const { block, editOperation, edge, edit, graphOf } = drafts;
    const errorTargets = Array.from({ length: 50 }, (_, at) => `b${at + 10}`);
    const operations = Array.from({ length: 20 }, (_, at) =>
      editOperation(`b${at % 5}`, { connections: { error: errorTargets } }),
    );
    await expectLinear({
      size: 500,
      make: (n) => {
        const blocks = Array.from({ length: n }, (_, at) => block(`b${at}`, 'function'));
        const edges = Array.from({ length: Math.floor(4.5 * n) }, (_, at) =>
          edge(`b${at % 5}`, `b${Math.floor(at / 5) + 10}`),
        );
        return graphOf(blocks, edges);
      },
      pass: (graph) => edit(graph, operations),
    });
  });
});
