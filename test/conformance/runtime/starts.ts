import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '@heddle/core';
import { work } from '../../support/scripted-executor.ts';
import { block, fn, workflow } from '../../support/workflow.ts';
import type { TestBlock } from '../../support/workflow.ts';
import type { MakeRuntime } from './runtime-under-test.ts';
import { sharedTestEngine } from './test-engine.ts';

const field = (name: string, type: string, properties: JsonObject = {}): JsonObject => ({
  id: name,
  name,
  type,
  ...properties,
});

/** The field of the start block, the run's input, and the value of `<start.a>`. */
const FIELD_CASES: [title: string, field: JsonObject, input: Json, value: Json][] = [
  ['a default is used if the input has no value', field('a', 'string', { value: 'd' }), {}, 'd'],
  ['a value of the input overrides the default', field('a', 'string', { value: 'd' }), { a: 'v' }, 'v'],
  ['an empty string overrides the default', field('a', 'string', { value: 'd' }), { a: '' }, ''],
  ['null keeps the default', field('a', 'string', { value: 'd' }), { a: null }, 'd'],
  ['a numeric string becomes a number', field('a', 'number'), { a: '42' }, 42],
  ['a default has the type of its field', field('a', 'number', { value: '5' }), {}, 5],
  ['a JSON string becomes an object', field('a', 'object'), { a: '{"b": 1}' }, { b: 1 }],
];

const RESERVED_NAME_CASES: [title: string, fields: Json[], input: Json, code: string][] = [
  ['a field', [field('error', 'string')], {}, 'WORKFLOW_INVALID'],
  ['an input', [], { selectedOption: 'x' }, 'INPUT_INVALID'],
];

/** Defines the tests of starts of runs: their blocks and inputs. */
export function describeStarts(makeRuntime: MakeRuntime): void {
  describe('starts', () => {
    const getTestEngine = sharedTestEngine(makeRuntime);
    const webhookBlock = (name: string, options: JsonObject = {}): TestBlock =>
      block(name, 'generic_webhook', {}, { triggerMode: true, ...options });

    it.each(FIELD_CASES)('%s', async (_title, inputField, input, value) => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [fn('A', 'return <start.a>')],
        edges: ['Start -> A'],
        workflowOptions: { inputFormat: [inputField] },
        input,
      });
      expect(result.output).toMatchObject({ result: value });
    });

    it.each(RESERVED_NAME_CASES)(
      '%s with a reserved name is refused, and nothing starts',
      async (_title, ...[fields, input, code]) => {
        const { engine, runWorkflow } = await getTestEngine();
        const runCount = (await engine.listRuns()).runs.length;
        await expect(
          runWorkflow({
            blocks: [work('A')],
            edges: ['Start -> A'],
            workflowOptions: { inputFormat: fields },
            input,
          }),
        ).rejects.toMatchObject({ code });
        expect((await engine.listRuns()).runs).toHaveLength(runCount);
      },
    );

    it('fields of an input format that have no name are ignored', async () => {
      const { runWorkflow } = await getTestEngine();
      const workflowOptions = {
        inputFormat: [
          { id: 'x', name: 5, type: 'string', value: 'no' },
          field('a', 'string', { value: 'd' }),
        ],
      };
      expect(await runWorkflow({ blocks: [], edges: [], workflowOptions })).toMatchObject({
        status: 'completed',
        output: { a: 'd' },
      });
    });

    it('a run starts at its start block, and blocks of other triggers do not run', async () => {
      const { runWorkflow } = await getTestEngine();
      const testRun = {
        blocks: [webhookBlock('Hook'), ...['A', 'B', 'J'].map((name) => work(name))],
        edges: ['Start -> A -> J', 'Hook -> B -> J'],
      };
      expect(await runWorkflow(testRun)).toMatchObject({ status: 'completed', executedBlocks: 'A J' });
      expect(await runWorkflow({ ...testRun, options: { start: 'Hook' } })).toMatchObject({
        status: 'completed',
        executedBlocks: 'B J',
      });
    });

    it('a run cannot start at a block that is not a trigger, is disabled or is unknown', async () => {
      const { runWorkflow } = await getTestEngine();
      const testRun = {
        blocks: [work('A'), webhookBlock('Off', { enabled: false })],
        edges: ['Start -> A', 'Off -> A'],
      };
      for (const [start, code] of [
        ['A', 'START_NOT_FOUND'],
        ['Off', 'BLOCK_NOT_FOUND'],
        ['Nope', 'BLOCK_NOT_FOUND'],
      ] as const)
        await expect(runWorkflow({ ...testRun, options: { start } })).rejects.toMatchObject({ code });
    });

    it('a webhook trigger returns its payload, and references can read any part of it', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [webhookBlock('Hook'), fn('A', 'return [<hook.body.id>, <hook.absent>, <hook>]')],
        edges: ['Hook -> A'],
        input: { body: { id: 7, list: [1] } },
        options: { start: 'Hook' },
      });
      expect(result).toMatchObject({ output: { result: [7, null, { body: { id: 7, list: [1] } }] } });
    });

    it('any block may be the trigger, and is then not executed itself', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [block('T', 'work', {}, { triggerMode: true }), fn('A', 'return <t.x>')],
        edges: ['T -> A'],
        input: { x: 1 },
        options: { start: 'T' },
      });
      expect(result).toMatchObject({ status: 'completed', executedBlocks: '', output: { result: 1 } });
    });

    it('a start block alone returns its input, or an empty output without input', async () => {
      const { runWorkflow } = await getTestEngine();
      expect(await runWorkflow({ blocks: [], edges: [], input: { a: 1 } })).toMatchObject({
        status: 'completed',
        output: { a: 1 },
      });
      expect((await runWorkflow({ blocks: [], edges: [] })).output).toEqual({});
    });

    it('disabled and unconnected blocks do not run and do not delay the run', async () => {
      const { runWorkflow } = await getTestEngine();
      const result = await runWorkflow({
        blocks: [work('A'), work('Off', { enabled: false }), work('J'), work('Behind'), work('Loose')],
        edges: ['Start -> A -> J', 'Start -> Off -> J', 'Off -> Behind'],
      });
      expect(result).toMatchObject({ status: 'completed', executedBlocks: 'A J' });
    });

    it('disabled containers, empty or not, do not prevent the run', async () => {
      const { runWorkflow } = await getTestEngine();
      const disabledContainer = (name: string, type: string, innerBlocks: TestBlock[]): TestBlock => ({
        ...block(name, type, {}, { enabled: false }),
        innerBlocks,
      });
      const result = await runWorkflow({
        blocks: [
          disabledContainer('L', 'loop', []),
          disabledContainer('P', 'parallel', []),
          disabledContainer('M', 'loop', [work('I', { enabled: false })]),
          work('A'),
        ],
        edges: ['Start -> L', 'Start -> P', 'Start -> M -> I', 'Start -> A'],
      });
      expect(result).toMatchObject({ status: 'completed', executedBlocks: 'A' });
    });

    it('compiling and running do not change the definition', async () => {
      const { engine } = await getTestEngine();
      const definition = workflow(
        [{ ...block('L', 'loop'), data: { loopType: 'for', count: 2 }, innerBlocks: [work('A')] }],
        ['Start -> L -> A'],
      );
      const jsonBefore = JSON.stringify(definition);
      await engine.execute({ workflow: definition });
      expect(JSON.stringify(definition)).toBe(jsonBefore);
    });
  });
}
