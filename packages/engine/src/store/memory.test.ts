import { expect, it } from 'vitest';
import { createRunHeader, createStartedEntry } from '../../../../test/support/run-data.ts';
import { MemoryRunStore, MemoryValueStore } from './memory.ts';

it('a value that a run uses, but none of its entries contains, is kept', () => {
  const runs = new MemoryRunStore();
  const values = new MemoryValueStore(runs);
  runs.create(createRunHeader('r'), createStartedEntry());
  const key = values.put('"x"');
  runs.addValueUses('r', [key]);
  values.prune([key], 0);
  expect(values.get(key)).toBe('"x"');
});
