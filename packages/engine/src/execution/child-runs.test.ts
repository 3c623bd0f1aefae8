import { expect, it } from 'vitest';
import { createRunHeader } from '../../../../test/support/run-data.ts';
import { childRunId, findChildRun, isChildRunId } from './child-runs.ts';

const RUN_ID = '4b0a4f5e-0000-4000-8000-000000000000';
const PARENT = createRunHeader(RUN_ID, { childKey: 'secret' });
const CHILD = { place: { block: 'W', scope: [1, 2] }, attempt: 1 };

it('a child run id is a UUID of version 8 and is the same for the same attempt of the same block', () => {
  const id = childRunId(PARENT, CHILD);
  expect(childRunId(PARENT, CHILD)).toBe(id);
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

it('a different run, key, block, iteration, attempt or call results in a different child run id', () => {
  const { attempt } = CHILD;
  const ids = [
    childRunId(PARENT, CHILD),
    childRunId({ ...PARENT, childKey: 'another' }, CHILD),
    childRunId({ ...PARENT, runId: 'other' }, CHILD),
    childRunId(PARENT, { place: { block: 'V', scope: [1, 2] }, attempt }),
    childRunId(PARENT, { place: { block: 'W', scope: [12] }, attempt }),
    childRunId(PARENT, { ...CHILD, attempt: 2 }),
    childRunId(PARENT, { ...CHILD, call: 'tool 1.1' }),
    childRunId(PARENT, { ...CHILD, call: 'tool 1.2' }),
  ];
  expect(new Set(ids).size).toBe(ids.length);
});

it('the child run ids of a run without a key stay the same', () => {
  expect(childRunId(createRunHeader(RUN_ID), CHILD)).toBe('de444be6-561a-84af-86be-93e11bafbb47');
});

it('child run ids are distinguished from ids that callers choose', () => {
  expect(isChildRunId(childRunId(PARENT, CHILD))).toBe(true);
  expect(isChildRunId(childRunId(PARENT, CHILD).toUpperCase())).toBe(true);
  expect(isChildRunId(RUN_ID)).toBe(false);
  expect(isChildRunId('order-4711')).toBe(false);
});

it.each([
  ['no parent', undefined],
  ['another run', { runId: 'other', block: 'W', scope: [1, 2], depth: 1 }],
  ['another block', { runId: RUN_ID, block: 'V', scope: [1, 2], depth: 1 }],
  ['another iteration', { runId: RUN_ID, block: 'W', scope: [1, 3], depth: 1 }],
  ['a call of the block', { runId: RUN_ID, block: 'W', scope: [1, 2], depth: 1, call: 'tool 1.1' }],
])('a run whose header names %s is not the child, even if its id matches', async (_, parent) => {
  const header = createRunHeader(childRunId(PARENT, CHILD), { parent });
  const runs = { header: () => header };
  await expect(findChildRun(runs, PARENT, CHILD)).rejects.toMatchObject({ code: 'CHILD_FAILED' });
});

it('a run is the child if its header names parent, block and scope', async () => {
  const parent = { runId: RUN_ID, block: 'W', scope: [1, 2], depth: 1 };
  const header = createRunHeader(childRunId(PARENT, CHILD), { parent });
  const runs = { header: (runId: string) => (runId === header.runId ? header : undefined) };
  expect(await findChildRun(runs, PARENT, CHILD)).toBe(header);
  expect(await findChildRun(runs, PARENT, { ...CHILD, attempt: 2 })).toBeUndefined();
});
