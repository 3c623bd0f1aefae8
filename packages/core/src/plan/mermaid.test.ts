import { expect, it } from 'vitest';
import { code, condition, start, workflowFile } from '../../../../test/support/workflow-file.ts';
import { parseWorkflow } from '../schema/parse.ts';
import { compile } from './compile.ts';
import { toMermaid } from './mermaid.ts';

it('draws containers as subgraphs, branches by title, and names that cannot break the drawing', () => {
  const blocks = {
    ...{ s: start(), c: condition('c', 'true', ''), L: { type: 'loop', data: { count: 3 } } },
    ...{
      P: { type: 'parallel', parentId: 'L', data: { parallelType: 'collection', collection: '<start.l>' } },
    },
    ...{ W: { type: 'loop', name: 'Until done', data: { loopType: 'while', whileCondition: 'true' } } },
    ...{ in: code('1', { parentId: 'P' }), w: code('1', { parentId: 'W' }) },
    z: { ...code('1'), name: 'a "quote"]\n--> <b> #1; end' },
  };
  const edges = ['s > c', 'c > L', 'c > W', 'L > P', 'P > in', 'W > w', 'L:error > z', 'W > z'];
  const result = compile(parseWorkflow(workflowFile({ blocks, edges })).workflow!);
  expect(result.ok && toMermaid(result.plan)).toBe(
    [
      'flowchart TD',
      '  n0(["Start"])',
      '  n1{"c"}',
      '  subgraph n2 ["L (loop × 3)"]',
      '    subgraph n2_0 ["P (parallel)"]',
      '      n2_0_0["in"]',
      '    end',
      '  end',
      '  subgraph n3 ["Until done (loop while)"]',
      '    n3_0["w"]',
      '  end',
      '  n4["a #34;quote#34;#93; --#62; #60;b#62; #35;1; end"]',
      '  n0 --> n1',
      '  n1 -->|"if"| n2',
      '  n1 -->|"else"| n3',
      '  n2 -->|"error"| n4',
      '  n3 --> n4',
      '',
    ].join('\n'),
  );
});
