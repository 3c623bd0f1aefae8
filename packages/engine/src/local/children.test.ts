import { expect, it } from 'vitest';
import { childRunId } from './children.ts';

const RUN = '4b0a4f5e-0000-4000-8000-000000000000';

it('the id of a child is the same for the same try of the same block, and a UUID of version 8', () => {
  const id = childRunId(RUN, { block: 'W', scope: [1, 2] }, 1);
  expect(childRunId(RUN, { block: 'W', scope: [1, 2] }, 1)).toBe(id);
  expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
});

it('another run, block, turn or try has another child', () => {
  const ids = [
    childRunId(RUN, { block: 'W', scope: [1, 2] }, 1),
    childRunId('other', { block: 'W', scope: [1, 2] }, 1),
    childRunId(RUN, { block: 'V', scope: [1, 2] }, 1),
    childRunId(RUN, { block: 'W', scope: [12] }, 1),
    childRunId(RUN, { block: 'W', scope: [1, 2] }, 2),
  ];
  expect(new Set(ids).size).toBe(ids.length);
});
