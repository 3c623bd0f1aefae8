import { describe, expect, it } from 'vitest';
import { code, start, workflowFile } from '../../../../test/support/workflow-file.ts';
import type { WorkflowSettings } from '../../../../test/support/workflow-file.ts';
import { parseWorkflow } from '../schema/parse.ts';
import type { Workflow } from '../schema/workflow.ts';
import { compile } from './compile.ts';

type Shape = (size: number) => WorkflowSettings;

const ids = (size: number): string[] => Array.from({ length: size }, (_, index) => `b${index}`);
const blocksOf = (size: number, codeAt: (index: number) => string): WorkflowSettings['blocks'] => ({
  s: start(),
  ...Object.fromEntries(ids(size).map((id, index) => [id, code(codeAt(index))])),
});

const SHAPES: { [name: string]: Shape } = {
  chain: (size) => ({
    blocks: blocksOf(size, (index) => (index === 0 ? 'return 1' : `return <b${index - 1}.result>`)),
    edges: ids(size).map((id, index) => `${index === 0 ? 's' : `b${index - 1}`} > ${id}`),
  }),
  fan: (size) => ({
    blocks: { ...blocksOf(size, () => 'return <start.input>'), j: code('return <b0.result>') },
    edges: ids(size).flatMap((id) => [`s > ${id}`, `${id} > j`]),
  }),
  loops: (size) => {
    const innerBlocks = ids(size / 2).map((id) => [`${id}x`, code('return <loop.index>', { parentId: id })]);
    const loops = ids(size / 2).map((id) => [id, { type: 'loop', data: { count: 2 } }]);
    return {
      blocks: { s: start(), ...Object.fromEntries([...loops, ...innerBlocks]) },
      edges: ids(size / 2).flatMap((id) => [`s > ${id}`, `${id} > ${id}x`]),
    };
  },
};

/**
 * Compiles the workflow. Returns the number of reads of its blocks and edges, whether it is valid, and the size of the
 * result.
 */
function measureCompile(workflow: Workflow): { reads: number; ok: boolean; chars: number } {
  let count = 0;
  const countReads = <T extends object>(list: T[]): T[] =>
    list.map(
      (item) =>
        new Proxy(item, {
          get: (target, key, receiver) => {
            count++;
            return Reflect.get(target, key, receiver) as unknown;
          },
        }),
    );
  const result = compile({
    ...workflow,
    blocks: countReads(workflow.blocks),
    edges: countReads(workflow.edges),
  });
  return { reads: count, ok: result.ok, chars: JSON.stringify(result).length };
}

describe('compile', () => {
  it.each(Object.keys(SHAPES))(
    'takes ten times the work for a %s that is ten times as large, up to ten thousand blocks',
    (name) => {
      const [small, middle, large] = [100, 1000, 10_000].map((size) =>
        measureCompile(parseWorkflow(workflowFile(SHAPES[name]!(size))).workflow!),
      );
      expect([small!.ok, middle!.ok, large!.ok]).toEqual([true, true, true]);
      for (const [larger, smaller] of [
        [middle!, small!],
        [large!, middle!],
      ] as const) {
        expect(larger.reads / smaller.reads).toBeLessThan(11);
        // Ids and indexes become one digit longer.
        expect(larger.chars / smaller.chars).toBeLessThan(12);
      }
    },
  );
});
