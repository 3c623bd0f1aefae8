import type { Json } from '@heddle/core';
import { block, fn, loop, parallel, workflow } from '../../support/workflow.ts';

/** A workflow for the chaos test, with its expected output. */
export interface TestWorkflow {
  name: string;
  workflow: Json;
  output: Json;
}

const effectBlock = (name: string, fields = {}, settings = {}) =>
  block(name, 'effect', { ms: 80, ...fields }, settings);
const computeBlock = (name: string, fields = {}) => block(name, 'compute', { ms: 250, ...fields });
const humanBlock = (name: string) => block(name, 'human_in_the_loop', {});
const waitBlock = (name: string, seconds: number) =>
  block(name, 'wait', { timeValue: String(seconds), timeUnit: 'seconds' });
const retryUpTo = (maxTries: number) => ({ retry: { enabled: true, maxTries, waitBetweenTriesMs: 300 } });
/** Length of a string that is large enough to be passed by reference. */
const LARGE_TEXT_LENGTH = 20_000;

/** The child workflow that the workflow `children` calls. It pauses. */
export const CHILD_WORKFLOW: Json = workflow(
  [effectBlock('X'), humanBlock('H'), fn('Y', 'return <h.n> * 10')],
  ['Start -> X -> H -> Y'],
  { id: 'chaos-child', name: 'Child' },
);

/** Returns the answer to a pause. `n` is its iteration or branch, counted from 1; outside of containers, `n` is 1. */
export function answerTo(scope: readonly number[]): Json {
  return { n: (scope.at(-1) ?? 0) + 1 };
}

const loopWithPauses: TestWorkflow = {
  name: 'a loop with a pause in every iteration, between effects',
  workflow: workflow(
    [
      loop(
        'L',
        { loopType: 'for', count: 3 },
        effectBlock('E'),
        humanBlock('H'),
        effectBlock('F', { answer: '<h.n>' }),
      ),
      fn('Z', 'return <l.results>.map((iteration) => iteration.at(-1).answer)'),
    ],
    ['Start -> L -> E -> H -> F', 'L -> Z'],
    { id: 'iterations' },
  ),
  output: { result: [1, 2, 3], stdout: '' },
};

const loopWithWaits: TestWorkflow = {
  name: 'a loop with a wait, an effect and slow code in every iteration',
  workflow: workflow(
    [
      loop(
        'L',
        { loopType: 'for', count: 3 },
        effectBlock('E', { at: '<loop.index>' }),
        waitBlock('T', 0.7),
        computeBlock('C', { at: '<e.at>' }),
      ),
      fn('Z', 'return <l.results>.map((iteration) => iteration.at(-1).at)'),
    ],
    ['Start -> L -> E -> T -> C', 'L -> Z'],
    { id: 'waits' },
  ),
  output: { result: [0, 1, 2], stdout: '' },
};

const parallelWithLoops: TestWorkflow = {
  name: 'a parallel of effects with code after each, and a loop in every branch',
  workflow: workflow(
    [
      parallel(
        'P',
        { parallelType: 'collection', collection: '[5, 6, 7, 8, 9]' },
        effectBlock('E', { item: '<parallel.currentItem>' }),
        loop('L', { loopType: 'for', count: 2 }, effectBlock('F', { of: '<e.item>' })),
        fn('G', 'return <l.results>.length * <e.item>'),
      ),
      fn('Z', 'return <p.results>.map((branch) => branch.at(-1).result)'),
    ],
    ['Start -> P -> E -> L -> F', 'L -> G', 'P -> Z'],
    { id: 'branches' },
  ),
  output: { result: [10, 12, 14, 16, 18], stdout: '' },
};

const pausingChild: TestWorkflow = {
  name: 'a child that pauses, between effects, and a large value that is used before and after it',
  workflow: workflow(
    [
      effectBlock('A', { large: 'x'.repeat(LARGE_TEXT_LENGTH) }),
      block('W', 'workflow_input', { workflowId: 'chaos-child', inputMapping: '{}' }),
      effectBlock('B'),
      fn('Z', 'return [<w.result.result>, <a.large>.length]'),
    ],
    ['Start -> A -> W -> B -> Z'],
    { id: 'children' },
  ),
  output: { result: [10, LARGE_TEXT_LENGTH], stdout: '' },
};

const failedAttempts: TestWorkflow = {
  name: 'failed attempts, and a handled failure',
  workflow: workflow(
    [
      effectBlock('A', { fail: 2 }, retryUpTo(3)),
      effectBlock('B', { fail: 9 }, retryUpTo(2)),
      effectBlock('H', { handled: '<b.error>' }),
      fn('Z', 'return [<a.blockName>, <h.blockName>, typeof <h.handled>]'),
    ],
    ['Start -> A -> B', 'B:error -> H -> Z'],
    { id: 'failures' },
  ),
  output: { result: ['A', 'H', 'string'], stdout: '' },
};

const slowCode: TestWorkflow = {
  name: 'a long chain of slow code, and many short iterations',
  workflow: workflow(
    [
      ...[1, 2, 3, 4, 5, 6].map((n) => computeBlock(`C${n}`, { n })),
      loop('L', { loopType: 'for', count: 60 }, fn('F', 'return <loop.index> + <c6.n>')),
      effectBlock('E', { n: '<c6.n>' }),
      fn('Z', 'return <l.results>.reduce((sum, [last]) => sum + last.result, <e.n>)'),
    ],
    ['Start -> C1 -> C2 -> C3 -> C4 -> C5 -> C6 -> L -> F', 'L -> E -> Z'],
    { id: 'code' },
  ),
  output: { result: 6 + 60 * 6 + (59 * 60) / 2, stdout: '' },
};

export const TEST_WORKFLOWS: readonly TestWorkflow[] = [
  loopWithPauses,
  loopWithWaits,
  parallelWithLoops,
  pausingChild,
  failedAttempts,
  slowCode,
];
