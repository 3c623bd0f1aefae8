import type { Json } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { block, fn, loop, workflow } from '../../support/workflow.ts';
import type { TestBlock } from '../../support/workflow.ts';
import type { MakeRuntime } from './runtime-under-test.ts';
import { sharedTestEngine } from './test-engine.ts';

const variablesBlock = (name: string, variableName: string, type: string, value: Json): TestBlock =>
  block(name, 'variables', { variables: [{ variableName, type, value }] });

/** The variable's type, the assigned value, and the value read afterwards. */
const TYPE_CASES: [type: string, value: Json, expected: Json][] = [
  ['string', '<start.text>', 'a "quoted" text'],
  ['number', '<start.n>', 7],
  ['boolean', 'true', true],
  ['object', '<start.object>', { deep: [1] }],
  ['array', '[1, <start.n>]', [1, 7]],
  ['plain', '{"a": 1}', '{"a": 1}'],
];

/** Defines the tests of variables of runs, and of code that reads them. Rule R44 is in docs/semantics.md. */
export function describeVariables(makeRuntime: MakeRuntime): void {
  describe('variables', () => {
    const getTestEngine = sharedTestEngine(makeRuntime);

    it.each(TYPE_CASES)(
      'of the type %s keep their type when assigned and read',
      async (type, value, expected) => {
        const { runWorkflow } = await getTestEngine();
        const result = await runWorkflow({
          blocks: [variablesBlock('V', 'x', type, value), fn('A', 'return <variable.x>')],
          edges: ['Start -> V -> A'],
          workflowOptions: { variables: { x: { type, value: '' } } },
          input: { text: 'a "quoted" text', n: 7, object: { deep: [1] } },
        });
        expect(result).toMatchObject({ status: 'completed', output: { result: expected } });
      },
    );

    it('large values are assigned, read and assigned again', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [
          fn('Make', 'return Array.from({ length: 5000 }, (_, i) => ({ i }))'),
          variablesBlock('V', 'x', 'array', '<make.result>'),
          loop(
            'L',
            { loopType: 'for', count: 2 },
            fn('More', 'return [...<variable.x>, "more"]'),
            variablesBlock('W', 'x', 'array', '<more.result>'),
          ),
          fn('Z', 'return [<variable.x>.length, <variable.x[4999].i>, <variable.x[5001]>]'),
        ],
        edges: ['Start -> Make -> V -> L -> More -> W', 'L -> Z'],
        workflowOptions: { variables: { x: { type: 'array', value: [] } } },
      });
      expect(result).toMatchObject({ status: 'completed', output: { result: [5002, 4999, 'more'] } });
    });

    it('a child workflow has its own variables with their initial values', async () => {
      const { engine } = await getTestEngine();
      const variables = { x: { type: 'number', value: 1 } };
      await engine.deploy(
        workflow(
          [
            fn('Old', 'return <variable.x>'),
            variablesBlock('V', 'x', 'number', '100'),
            fn('New', 'return [<old.result>, <variable.x>]'),
          ],
          ['Start -> Old -> V -> New'],
          {
            id: 'child',
            variables,
          },
        ),
      );
      const parent = workflow(
        [
          variablesBlock('V', 'x', 'number', '5'),
          block('C', 'workflow_input', { workflowId: 'child' }),
          fn('Z', 'return [<c.result.result>, <variable.x>]'),
        ],
        ['Start -> V -> C -> Z'],
        { variables },
      );
      expect(await engine.execute({ workflow: parent })).toMatchObject({ output: { result: [[1, 100], 5] } });
    });

    it('a Response of a child can be read with and without its envelope', async () => {
      const { engine } = await getTestEngine();
      const responseBlock = block('R', 'response', { dataMode: 'json', data: '{"n": 3}', status: '201' });
      await engine.deploy(workflow([responseBlock], ['Start -> R'], { id: 'replies' }));
      const parent = workflow(
        [
          block('C', 'workflow_input', { workflowId: 'replies' }),
          fn('Z', 'return [<c.result.data.n>, <c.result.response.data.n>, <c.result.status>, <c.success>]'),
        ],
        ['Start -> C -> Z'],
      );
      expect(await engine.execute({ workflow: parent })).toMatchObject({
        output: { result: [3, 3, 201, true] },
      });
    });

    it('values do not change the structure of authored JSON in inputs of a child, values of variables and a Response (R44)', async () => {
      const { engine } = await getTestEngine();
      await engine.deploy(workflow([fn('A', 'return <start>')], ['Start -> A'], { id: 'keys' }));
      const assignments = [{ variableName: 'x', type: 'object', value: '{"v": "<start.v>"}' }];
      const parent = workflow(
        [
          block('C', 'workflow_input', { workflowId: 'keys', inputMapping: '{"v": "<start.v>"}' }),
          block('V', 'variables', { variables: assignments }),
          block('R', 'response', {
            dataMode: 'json',
            data: '{"v": "<start.v>", "bare": <start.v>, "child": <c.result.result>, "variable": <v.x>}',
          }),
        ],
        ['Start -> C -> V -> R'],
      );
      const v = '","role":"admin';
      expect(await engine.execute({ workflow: parent }, { v })).toMatchObject({
        output: { data: { v, bare: v, child: { v }, variable: { v } } },
      });
    });

    it('the mapped inputs of a child contain only declared keys', async () => {
      const { engine } = await getTestEngine();
      const inputFormat = [{ id: 'a', name: 'a', type: 'number' }];
      await engine.deploy(
        workflow([fn('A', 'return <start>')], ['Start -> A'], { id: 'takes', inputFormat }),
      );
      const parentWithMapping = (inputMapping: Json) =>
        workflow(
          [
            block('C', 'workflow_input', { workflowId: 'takes', inputMapping }),
            fn('Z', 'return <c.result.result>'),
          ],
          ['Start -> C -> Z'],
        );
      for (const mapping of ['{"a": "<start.n>", "b": 1}', { a: '<start.n>', b: 1 }])
        expect(await engine.execute({ workflow: parentWithMapping(mapping) }, { n: 4 })).toMatchObject({
          output: { result: { a: 4 } },
        });
    });

    it('code of several parts runs as one function, and its console output is returned', async () => {
      const { runWorkflow } = await getTestEngine();
      const parts = [
        { content: 'console.log("a", 1);' },
        { content: 'await null;' },
        { content: 'return <start.n> + 1' },
      ];
      const result = await runWorkflow({
        blocks: [block('A', 'function', { code: parts })],
        edges: ['Start -> A'],
        input: { n: 1 },
      });
      expect(result).toMatchObject({
        status: 'completed',
        output: { result: 2, stdout: expect.stringContaining('a 1') },
      });
    });

    it('a shell script without an image fails its block, and the message names shell scripts', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [block('A', 'function', { code: 'echo 1', language: 'shell' }), fn('H', 'return <a.error>')],
        edges: ['Start -> A', 'A:error -> H'],
      });
      expect((result.output as { result: string }).result.toLowerCase()).toContain('shell');
    });
  });
}
