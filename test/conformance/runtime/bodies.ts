import { describe, expect, it } from 'vitest';
import { work } from '../../support/scripted-executor.ts';
import { condition, loop, parallel } from '../../support/workflow.ts';
import type { TestBlock } from '../../support/workflow.ts';
import type { MakeRuntime } from './runtime-under-test.ts';
import { sharedTestEngine } from './test-engine.ts';
import type { TestRunResult } from './test-engine.ts';

/** The body of a container that runs twice. In its strings, `I` is the number of the iteration or branch. */
interface Body {
  title: string;
  blocks: () => TestBlock[];
  /** Edges inside; the container is `In`, and `In ->` leads to its first blocks. */
  edges: string[];
  failingBlocks?: string[];
  /** The `work` blocks that run in iteration or branch 0, and in 1. */
  executedBlocks: [string, string];
}

/** Returns blocks of the type `work` with these names, which are separated by spaces. */
const workBlocks = (names: string): TestBlock[] => names.split(' ').map((name) => work(name));

const BODIES: Body[] = [
  {
    title: 'a condition that chooses a different row in each iteration',
    blocks: () => [condition('C', { a: 'I === 0', b: 'I === 1', c: '' }), ...workBlocks('A B E J')],
    edges: ['In -> C', 'C:a -> A -> J', 'C:b -> B -> J', 'C:c -> E -> J'],
    executedBlocks: ['A J', 'B J'],
  },
  {
    title: 'two rows that lead to one block, and a third to another',
    blocks: () => [condition('C', { a: 'I === 5', b: 'I === 0', c: '' }), ...workBlocks('A B')],
    edges: ['In -> C', 'C:a -> A', 'C:b -> B', 'C:c -> A'],
    executedBlocks: ['B', 'A'],
  },
  {
    title: 'a condition without a match at the end',
    blocks: () => [condition('C', { a: 'I === 1' }), ...workBlocks('X A')],
    edges: ['In -> X -> C', 'C:a -> A'],
    executedBlocks: ['X', 'A X'],
  },
  {
    title: 'a chosen row without an edge, beside a path that continues',
    blocks: () => [condition('C', { a: 'I === 1', none: '' }), ...workBlocks('A X Y')],
    edges: ['In -> C', 'C:a -> A', 'In -> X -> Y'],
    executedBlocks: ['X Y', 'A X Y'],
  },
  {
    title: 'two conditions in sequence, the second a dead end',
    blocks: () => [
      condition('C', { a: 'true', b: '' }),
      condition('D', { a: 'I === 1' }),
      ...workBlocks('A B E'),
    ],
    edges: ['In -> C', 'C:a -> D', 'C:b -> B', 'D:a -> A -> E'],
    executedBlocks: ['', 'A E'],
  },
  {
    title: 'a diamond whose longer path is taken in only one iteration',
    blocks: () => [condition('C', { a: 'I === 0', b: '' }), ...workBlocks('A B D E F J Z')],
    edges: ['In -> C', 'C:a -> A -> B -> D -> E -> J', 'C:b -> F -> J', 'J -> Z'],
    executedBlocks: ['A B D E J Z', 'F J Z'],
  },
  {
    title: 'an error port that is taken, beside one that is not',
    blocks: () => workBlocks('A B H G Z'),
    edges: ['In -> A -> Z', 'A:error -> H -> Z', 'In -> B', 'B:error -> G'],
    failingBlocks: ['A'],
    executedBlocks: ['A B H Z', 'A B H Z'],
  },
  {
    title: 'several first blocks and several last blocks',
    blocks: () => workBlocks('A B X Y J'),
    edges: ['In -> A -> J', 'In -> B -> J', 'J -> X', 'J -> Y'],
    executedBlocks: ['A B J X Y', 'A B J X Y'],
  },
];

const ITERATION_COUNT = 2;

/** A container around the blocks of a body, alone or inside another container. */
interface Nesting {
  name: string;
  nest: (innerBlocks: TestBlock[]) => TestBlock;
  innerKind: 'loop' | 'parallel';
  depth: number;
}

const createLoop = (name: string, ...innerBlocks: TestBlock[]): TestBlock =>
  loop(name, { loopType: 'for', count: ITERATION_COUNT }, ...innerBlocks);
const createParallel = (name: string, ...innerBlocks: TestBlock[]): TestBlock =>
  parallel(name, { parallelType: 'count', count: ITERATION_COUNT }, ...innerBlocks);

const NESTINGS: Nesting[] = [
  { name: 'a loop', nest: (innerBlocks) => createLoop('In', ...innerBlocks), innerKind: 'loop', depth: 1 },
  {
    name: 'a parallel',
    nest: (innerBlocks) => createParallel('In', ...innerBlocks),
    innerKind: 'parallel',
    depth: 1,
  },
  {
    name: 'a loop in a loop',
    nest: (innerBlocks) => createLoop('Out', createLoop('In', ...innerBlocks), work('After')),
    innerKind: 'loop',
    depth: 2,
  },
  {
    name: 'a loop in a parallel',
    nest: (innerBlocks) => createParallel('Out', createLoop('In', ...innerBlocks), work('After')),
    innerKind: 'loop',
    depth: 2,
  },
  {
    name: 'a parallel in a loop',
    nest: (innerBlocks) => createLoop('Out', createParallel('In', ...innerBlocks), work('After')),
    innerKind: 'parallel',
    depth: 2,
  },
  {
    name: 'a parallel in a parallel',
    nest: (innerBlocks) => createParallel('Out', createParallel('In', ...innerBlocks), work('After')),
    innerKind: 'parallel',
    depth: 2,
  },
];

/** Returns the expected blocks: the body in every innermost iteration, `After` in every outer one, and `End` once. */
function formatExpectedBlocks(body: Body, { depth }: Nesting): string {
  const outerScopes = depth === 1 ? [''] : ['.0', '.1'];
  const bodyBlocks = outerScopes.flatMap((scope) =>
    body.executedBlocks.flatMap((names, iteration) =>
      names === '' ? [] : names.split(' ').map((name) => `${name}${scope}.${iteration}`),
    ),
  );
  const afterBlocks = depth === 1 ? [] : outerScopes.map((scope) => `After${scope}`);
  return [...bodyBlocks, ...afterBlocks, 'End'].toSorted().join(' ');
}

/** Returns the body's blocks with `I` replaced by a reference to the innermost index. */
function withIndexes(blocks: TestBlock[], innerKind: 'loop' | 'parallel'): TestBlock[] {
  const text = JSON.stringify(blocks).replaceAll(/\bI\b/g, `<${innerKind}.index>`);
  return JSON.parse(text) as TestBlock[];
}

/**
 * Defines the tests of paths inside containers: each iteration and branch takes its own path, and the next block always
 * runs.
 */
export function describeBodies(makeRuntime: MakeRuntime): void {
  describe('bodies of loops and parallels, including nested bodies', () => {
    const getTestEngine = sharedTestEngine(makeRuntime);

    it.each(BODIES.map((body) => [body.title, body] as const))('%s', async (_title, body) => {
      const { runWorkflow } = await getTestEngine();
      const outcomes: { [nesting: string]: Pick<TestRunResult, 'status' | 'executedBlocks'> } = {};
      for (const nesting of NESTINGS) {
        const outermostName = nesting.depth === 1 ? 'In' : 'Out';
        const { status, executedBlocks } = await runWorkflow({
          blocks: [nesting.nest(withIndexes(body.blocks(), nesting.innerKind)), work('End')],
          edges: [
            ...body.edges,
            `Start -> ${outermostName} -> End`,
            ...(nesting.depth === 1 ? [] : ['Out -> In -> After']),
          ],
          ...(body.failingBlocks && { failingBlocks: body.failingBlocks }),
        });
        outcomes[nesting.name] = { status, executedBlocks };
      }
      expect(outcomes).toEqual(
        Object.fromEntries(
          NESTINGS.map((nesting) => [
            nesting.name,
            { status: 'completed', executedBlocks: formatExpectedBlocks(body, nesting) },
          ]),
        ),
      );
    });
  });
}
