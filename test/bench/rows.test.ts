import { expect, it } from 'vitest';
import { ROWS } from './rows.ts';

it('rows with the unit s convert the measured milliseconds to seconds', () => {
  const inSeconds = ROWS.filter(({ unit }) => unit === 's');
  expect(inSeconds.length).toBeGreaterThan(0);
  for (const { name, scale } of inSeconds) expect(1000 * scale, name).toBe(1);
});
