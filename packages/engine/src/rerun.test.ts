import { replaySourceRun } from '@heddle/core/run';
import type { Entry, EntryBody, SourceRun } from '@heddle/core/run';
import { describe, expect, it } from 'vitest';
import { compilePlan } from '../../../test/support/compile-plan.ts';
import { createStartedEntry } from '../../../test/support/run-data.ts';
import { work } from '../../../test/support/scripted-executor.ts';
import { loop } from '../../../test/support/workflow.ts';
import { findBlock } from './execution/plan-queries.ts';
import { collectReusedData } from './rerun.ts';
import type { Restart, ReusedData } from './rerun.ts';

const NOT_RESTARTABLE = 'BLOCK_NOT_RESTARTABLE';
const plan = compilePlan(
  [work('A'), work('B'), work('C'), work('D'), loop('L', { loopType: 'for', count: 1 }, work('I'))],
  ['Start -> A -> B -> C', 'Start -> D', 'C -> L -> I'],
);

/**
 * Returns a run in which these blocks have ended. The run was then cancelled, unless it is still open.
 */
function earlierRun(blocks: readonly string[], { open = false } = {}): SourceRun {
  const bodies: EntryBody[] = blocks.map((block) => ({
    type: 'completed',
    try: 1,
    startedMs: 0,
    output: { v: { of: block } },
    block,
    scope: [],
  }));
  if (!open) bodies.push({ type: 'cancelled' });
  const laterEntries = bodies.map((body, index): Entry => ({ seq: index + 2, atMs: 0, ...body }));
  return replaySourceRun('old', plan, [
    { ...createStartedEntry(), start: 'Start' } as Entry,
    ...laterEntries,
  ]);
}

function reuseFrom(block: string, source: SourceRun, restart?: Restart): ReusedData {
  return collectReusedData(plan, findBlock(plan, block), source, restart);
}

describe('a run that starts at a block of an earlier run', () => {
  it('reuses the outputs of blocks that are not downstream of the start', () => {
    const reusedData = reuseFrom('B', earlierRun(['Start', 'A', 'D', 'B', 'C']));
    expect(reusedData).toMatchObject({ runId: 'old' });
    expect(Object.keys(reusedData.outputs).toSorted()).toEqual(['A', 'D', 'Start']);
  });

  it.each([
    {
      title: 'a block whose upstream block did not run',
      block: 'C',
      code: NOT_RESTARTABLE,
      message: /"B", which leads to it/,
    },
    {
      title: 'a block in a container',
      block: 'I',
      code: NOT_RESTARTABLE,
      message: /inside the container "L"/,
    },
    {
      title: 'a block of a run that has not ended',
      block: 'A',
      open: true,
      code: 'RUN_NOT_SETTLED',
      message: /old has not/,
    },
  ])('cannot start at $title', ({ block, open, code, message }) => {
    expect(() => reuseFrom(block, earlierRun(['Start', 'A'], { open: open ?? false }))).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) as string }),
    );
  });

  it('stores replaced outputs by the ids of the blocks', () => {
    const reusedData = reuseFrom('B', earlierRun(['Start', 'A']), {
      edits: { outputs: { a: { of: 'a caller' } } },
    });
    expect(reusedData.edits).toEqual({ fields: {}, outputs: { A: { of: 'a caller' } } });
  });

  it.each([
    ['a field that the block does not have', { fields: { nope: 1 } }, /"nope" of "B".* be replaced/],
    ['a field of Object.prototype', { fields: { constructor: 1 } }, /"constructor"/],
    ['the output of a block that runs again', { outputs: { C: {} } }, /"C" cannot be replaced/],
    ['the output of a block that has not run', { outputs: { D: {} } }, /"D" cannot be replaced/],
    ['the output of the block itself', { outputs: { B: {} } }, /"B" cannot be replaced/],
  ])('cannot replace %s', (_title, edits, message) => {
    expect(() => reuseFrom('B', earlierRun(['Start', 'A']), { edits })).toThrow(
      expect.objectContaining({
        code: 'OPTIONS_INVALID',
        message: expect.stringMatching(message) as string,
      }),
    );
  });

  it('cannot replace fields of a trigger', () => {
    expect(() =>
      reuseFrom('Start', earlierRun(['Start']), { edits: { fields: { inputFormat: [] } } }),
    ).toThrow(/is a trigger/);
  });

  it('cannot start from a journal with an entry that does not follow from the entries before it', () => {
    const repeatedBlocks = ['Start', 'A', 'A'];
    expect(() => earlierRun(repeatedBlocks)).toThrow(expect.objectContaining({ code: 'JOURNAL_CORRUPT' }));
  });
});
