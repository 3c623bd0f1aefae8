import { expect, it } from 'vitest';
import { flattenReport, readReport } from './image-protocol.ts';

it.each([
  { t: 'made', data: new Uint8Array([1, 2, 3]), why: '' },
  { t: 'failed', modules: [{ module: 'a', stack: 'b\nc' }] },
])('a report is flattened and restored unchanged: %j', (report) => {
  const flat = flattenReport(report);
  expect(Object.values(flat).every((value) => typeof value === 'string' || value instanceof Uint8Array)).toBe(
    true,
  );
  expect(readReport(flat)).toEqual(report);
});

it.each<[string, unknown]>([
  ['undefined', undefined],
  ['a string', 'x'],
  ['invalid JSON', { json: '{', field: '', bytes: new Uint8Array() }],
  ['JSON that is not an object', { json: '1', field: '', bytes: new Uint8Array() }],
  ['no bytes', { json: '{}', field: 'data', bytes: 'x' }],
])('%s is not a report', (_description, message) => {
  expect(readReport(message)).toBeUndefined();
});
