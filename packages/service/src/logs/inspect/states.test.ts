import type { Span } from '@heddle/core/run';
import { expect, it } from 'vitest';
import { modelUsagesOf } from '../usage.ts';
import { pageOfSpans } from './flat-spans.ts';
import { statesOf } from './states.ts';

it('the spans of 300,000 iterations, too many to be the arguments of one function call, are counted and paged', async () => {
  const children = Array.from({ length: 300_000 }, (_, index) => ({
    ...{ id: `run/loop/${index}`, name: 'iteration', type: 'iteration', status: 'completed' },
    ...{ index, startMs: 0, endMs: 1, durationMs: 1, errorHandled: false, children: [] },
  }));
  const loop = { id: 'run/loop', blockId: 'loop', type: 'loop', status: 'completed', children };
  const root = { id: 'run', type: 'run', startMs: 0, children: [loop] } as unknown as Span;
  expect(statesOf(root, '')).toMatchObject([{ blockId: 'loop', iterations: { total: 300_000 } }]);
  const page = pageOfSpans(root, { under: 'loop', direct: true }, { offset: 299_990, limit: 100 });
  expect(page).toMatchObject({ next: undefined, spans: { length: 10 } });
  expect(await modelUsagesOf({ readValue: () => Promise.resolve(null) }, root)).toEqual([]);
});
