import { expect, it } from 'vitest';
import { ROWS } from './rows.ts';

it('rows with the unit s convert the measured milliseconds to seconds', () => {
  const rowsInSeconds = ROWS.filter(({ unit }) => unit === 's');
  expect(rowsInSeconds.length).toBeGreaterThan(0);
  for (const { name, scale } of rowsInSeconds) expect(1000 * scale, name).toBe(1);
});
