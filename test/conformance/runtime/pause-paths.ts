import type { JsonObject } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { ScriptedExecutor, work } from '../../support/scripted-executor.ts';
import { block, condition, fn, loop, parallel, workflow } from '../../support/workflow.ts';
import type { TestBlock } from '../../support/workflow.ts';
import type { MakeRuntime } from './runtime-under-test.ts';

const humanBlock = (name: string, options: JsonObject = {}): TestBlock =>
  block(name, 'human_in_the_loop', {}, options);
/** Returns blocks of the type `work` with these names, which are separated by spaces. */
const workBlocks = (names: string): TestBlock[] => names.split(' ').map((name) => work(name));

/** Blocks, edges, the `work` blocks that ran before the answer to `H`, and those that ran after it. */
const CASES: [
  title: string,
  blocks: () => TestBlock[],
  edges: string[],
  callsBefore: string,
  callsAfter: string,
][] = [
  [
    'a pause between two blocks',
    () => [...workBlocks('A Z'), humanBlock('H')],
    ['Start -> A -> H -> Z'],
    'A',
    'Z',
  ],
  [
    'a pause at the end: no block runs after the answer',
    () => [...workBlocks('A'), humanBlock('H')],
    ['Start -> A -> H'],
    'A',
    '',
  ],
  [
    'the error port of an answered pause is not taken',
    () => [...workBlocks('E F Z'), humanBlock('H')],
    ['Start -> H -> Z', 'H:error -> E -> F'],
    '',
    'Z',
  ],
  [
    'a block at the error port that has another source still runs',
    () => [...workBlocks('A E Z'), humanBlock('H')],
    ['Start -> A', 'A -> H -> Z', 'H:error -> E', 'A -> E'],
    'A',
    'E Z',
  ],
  [
    'a join whose last open source is the error port runs after the answer',
    () => [...workBlocks('A J'), humanBlock('H')],
    ['Start -> A -> J', 'Start -> H', 'H:error -> J'],
    'A',
    'J',
  ],
  [
    'both ports of a pause lead to one block, which runs once',
    () => [...workBlocks('Z'), humanBlock('H')],
    ['Start -> H -> Z', 'H:error -> Z'],
    '',
    'Z',
  ],
  [
    'a condition before the pause keeps its choice',
    () => [condition('C', { yes: 'true', no: '' }), ...workBlocks('A B J'), humanBlock('H')],
    ['Start -> C', 'C:yes -> A -> J', 'C:no -> B -> J', 'Start -> H -> J'],
    'A',
    'J',
  ],
];

/** Defines the tests of paths through pause points. */
export function describePausePaths(makeRuntime: MakeRuntime): void {
  const openEngine = async () => {
    const scriptedExecutor = new ScriptedExecutor({}, ({ block: { name } }) => ({
      output: { blockName: name },
    }));
    return { scriptedExecutor, engine: await makeRuntime().open({ blocks: [scriptedExecutor.executor] }) };
  };

  describe('paths through pauses', () => {
    it.each(CASES)('%s', async (_title, ...[blocks, edges, callsBefore, callsAfter]) => {
      const { scriptedExecutor, engine } = await openEngine();
      const run = await engine.start({ workflow: workflow(blocks(), edges) });
      expect(await run.result()).toMatchObject({ status: 'paused' });
      expect(scriptedExecutor.calls.toSorted().join(' ')).toBe(callsBefore);
      scriptedExecutor.calls.length = 0;
      expect(await engine.resume(run.runId, { input: { ok: true } })).toMatchObject({ status: 'completed' });
      expect(scriptedExecutor.calls.toSorted().join(' ')).toBe(callsAfter);
    });

    it('a pause in a parallel in a loop keeps iteration, open branches, items and variables', async () => {
      const { engine } = await openEngine();
      const definition = workflow(
        [
          loop(
            'L',
            { loopType: 'for', count: 2 },
            parallel(
              'P',
              { parallelType: 'collection', collection: '["a", "b"]', batchSize: 1 },
              humanBlock('H'),
              block('V', 'variables', {
                variables: [{ variableName: 'said', type: 'plain', value: '<variable.said><h.n>' }],
              }),
              fn('A', 'return <parallel.currentItem> + <loop.index> + <h.n>'),
            ),
          ),
          fn(
            'Z',
            'return [<variable.said>, <l.results>.map(([p]) => p.results.map((branch) => branch.at(-1).result))]',
          ),
        ],
        ['Start -> L -> P -> H -> V -> A', 'L -> Z'],
        { variables: { said: { type: 'plain', value: '' } } },
      );
      const run = await engine.start({ workflow: definition });
      await run.result();
      for (const n of [1, 2, 3])
        expect(await engine.resume(run.runId, { input: { n: String(n) } })).toMatchObject({
          status: 'paused',
        });
      expect(await engine.resume(run.runId, { input: { n: '4' } })).toMatchObject({
        status: 'completed',
        output: {
          result: [
            '1234',
            [
              ['a01', 'b02'],
              ['a13', 'b14'],
            ],
          ],
        },
      });
    });

    it('a pause is logged when it opens, with the data that it shows, and is never retried', async () => {
      const { engine } = await openEngine();
      const retry = { enabled: true, maxTries: 3, waitBetweenTriesMs: 0 };
      const run = await engine.start({ workflow: workflow([humanBlock('H', { retry })], ['Start -> H']) });
      expect(await run.result()).toMatchObject({ status: 'paused' });
      const logs = await engine.getLogs(run.runId);
      expect(logs.find(({ blockName }) => blockName === 'H')).toMatchObject({
        status: 'paused',
        tries: 1,
        output: { response: { data: { operation: 'human', submission: null } } },
      });
      expect(await engine.resume(run.runId, { input: { n: 1 } })).toMatchObject({
        output: { n: 1, submission: { n: 1 }, _resumed: true },
      });
    });

    it('a failure or a Response during an open pause ends the run and closes the pause', async () => {
      const response = block('R', 'response', { dataMode: 'json', data: '1' });
      for (const [endingBlock, status] of [
        [fn('R', 'throw new Error("no")'), 'failed'],
        [response, 'completed'],
      ] as const) {
        const { engine } = await openEngine();
        const run = await engine.start({
          workflow: workflow([humanBlock('H'), endingBlock], ['Start -> H', 'Start -> R']),
        });
        expect(await run.result()).toMatchObject({ status });
        expect((await engine.getRun(run.runId)).pauses).toEqual([]);
      }
    });
  });
}
