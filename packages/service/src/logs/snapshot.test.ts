import { parseWorkflow, compile } from '@heddle/core';
import type { Plan } from '@heddle/core';
import { expect, it } from 'vitest';
import { block, condition, fn, loop, parallel, workflow } from '../../../../test/support/workflow.ts';
import { graphOfPlan } from './snapshot.ts';

function planOf(exportedWorkflow: Parameters<typeof parseWorkflow>[0]): Plan {
  const parsed = parseWorkflow(exportedWorkflow);
  if (!parsed.workflow) throw new Error(JSON.stringify(parsed.diagnostics));
  const compiled = compile(parsed.workflow);
  if (!compiled.ok) throw new Error(JSON.stringify(compiled.diagnostics));
  return compiled.plan;
}

it('the graph of a plan has fields, code, conditions, containers, edges and variables as they were written', () => {
  const graph = graphOfPlan(
    planOf(
      workflow(
        [
          block('Call', 'api', { url: 'https://x.test/<Start.a>?k={{KEY}}', method: 'GET' }),
          condition('If', { yes: '<Call.status> == 200', no: '' }),
          loop(
            'Each',
            { loopType: 'forEach', collection: '<Start.list>' },
            fn('In', 'return <loop.currentItem>'),
          ),
          parallel('Both', { parallelType: 'count', count: 3 }, fn('Side', 'return 1')),
        ],
        ['Start -> Call -> If', 'If:yes -> Each', 'Each -> In', 'If:no -> Both', 'Both -> Side'],
        {
          inputFormat: [
            { name: 'a', type: 'string' },
            { name: 'list', type: 'array' },
          ],
          variables: { v: { type: 'number', value: 5 } },
        },
      ),
    ),
  );
  expect(graph.blocks).toMatchObject({
    Call: { type: 'api', subBlocks: { url: { value: 'https://x.test/<Start.a>?k={{KEY}}' } } },
    In: { data: { parentId: 'Each' }, subBlocks: { code: { value: 'return <loop.currentItem>' } } },
  });
  expect(JSON.stringify(graph.blocks['If'])).toContain('<Call.status> == 200');
  expect(graph.loops).toMatchObject({
    Each: { nodes: ['In'], loopType: 'forEach', forEachItems: '<Start.list>' },
  });
  expect(graph.parallels).toMatchObject({ Both: { nodes: ['Side'], parallelType: 'count', count: 3 } });
  expect(graph.variables).toMatchObject({ v: { name: 'v', value: 5 } });
  const edges = graph.edges.map((edge) => {
    const { source, sourceHandle, target } = edge as { [name: string]: string };
    return `${source}:${sourceHandle} ${target}`;
  });
  expect(edges).toContain('Start:source Call');
  expect(edges).toContain('Each:loop-start-source In');
  expect(edges).toContain('Both:parallel-start-source Side');
  expect(edges.filter((edge) => edge.startsWith('If:'))).toHaveLength(2);
});
