import { expect, it } from 'vitest';
import { newRun, startedEntry } from '../../../../test/support/run-data.ts';
import { MemoryRunStore, MemoryValueStore } from './memory.ts';

it('a value that a run uses without an entry is kept', () => {
  const runs = new MemoryRunStore();
  const values = new MemoryValueStore(runs);
  runs.create(newRun('r'), startedEntry());
  const key = values.put('"x"');
  runs.addValueUses('r', [key]);
  values.prune([key], 0);
  expect(values.get(key)).toBe('"x"');
});
