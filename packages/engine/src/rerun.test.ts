import type { Entry, EntryBody } from '@heddle/core/run';
import { describe, expect, it } from 'vitest';
import { compiled } from '../../../test/support/compiled.ts';
import { started } from '../../../test/support/run-data.ts';
import { work } from '../../../test/support/scripted.ts';
import { loop } from '../../../test/support/workflow.ts';
import { reuse } from './rerun.ts';

const plan = compiled(
  [work('A'), work('B'), work('C'), work('D'), loop('L', { loopType: 'for', count: 1 }, work('I'))],
  ['Start -> A -> B -> C', 'Start -> D', 'C -> L -> I'],
);

/** The journal of a run in which these blocks have ended, and that was cancelled then, unless it is still open. */
function journal(
  blocks: readonly string[],
  { open = false } = {},
): { runId: string; plan: typeof plan; entries: Entry[] } {
  const bodies: EntryBody[] = blocks.map((block) => ({
    type: 'completed',
    try: 1,
    startedMs: 0,
    output: { v: { of: block } },
    block,
    scope: [],
  }));
  if (!open) bodies.push({ type: 'cancelled' });
  const later = bodies.map((body, index): Entry => ({ seq: index + 2, atMs: 0, ...body }));
  return { runId: 'old', plan, entries: [{ ...started(), start: 'Start' } as Entry, ...later] };
}

describe('a run that starts at a block of an earlier one', () => {
  it('takes over the outputs of what is not downstream of it', () => {
    const { start, reused } = reuse(plan, 'b', journal(['Start', 'A', 'D', 'B', 'C']));
    expect(start).toBe('B');
    expect(reused).toMatchObject({ runId: 'old' });
    expect(Object.keys(reused.outputs).toSorted()).toEqual(['A', 'D', 'Start']);
  });

  it.each([
    [
      'a block whose upstream did not run',
      'C',
      ['Start', 'A'],
      {},
      'BLOCK_NOT_RESTARTABLE',
      /"B", which leads to it/,
    ],
    [
      'a block in a container',
      'I',
      ['Start', 'A', 'B', 'C'],
      {},
      'BLOCK_NOT_RESTARTABLE',
      /inside the container "L"/,
    ],
    ['a block that is not there', 'Nope', ['Start'], {}, 'BLOCK_NOT_FOUND', /Nope/],
    ['a run that has not ended', 'A', ['Start'], { open: true }, 'RUN_NOT_SETTLED', /old has not ended/],
  ])('cannot start at %s', (_what, block, blocks, options, code, message) => {
    expect(() => reuse(plan, block, journal(blocks, options))).toThrow(
      expect.objectContaining({ code, message: expect.stringMatching(message) as string }),
    );
  });
});
