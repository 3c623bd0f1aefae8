import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { machineLine } from '../report.ts';
import { prepare } from './ground.ts';
import { race } from './race.ts';
import type { Result } from './race.ts';
import { temporalJson, temporalTable } from './report.ts';
import { ROWS } from './rows.ts';

/** Runs the rows on a Temporal server and prints their table. */
export async function benchTemporal(
  { json, quick = false, only = '' }: { json?: string; quick?: boolean; only?: string },
  say: (text: string) => void,
): Promise<void> {
  const pattern = new RegExp(only, 'i');
  const rows = ROWS.filter(({ name }) => pattern.test(name));
  if (rows.length === 0) throw new Error(`No row fits "${only}".`);
  const ground = await prepare(say);
  const results: Result[] = [];
  const from = loadavg()[0] as number;
  try {
    for (const row of rows) {
      say(`${row.name} …`);
      results.push(...(await race(row, quick ? row.quick : row.full, ground)));
      if (json !== undefined) writeFileSync(json, `${JSON.stringify(temporalJson(results), undefined, 2)}\n`);
    }
  } finally {
    await ground.close();
  }
  const load = `load ${from.toFixed(1)} before, ${(loadavg()[0] as number).toFixed(1)} after`;
  process.stdout.write(`${temporalTable(results)}\n\n${machineLine()}; ${load}\n${ground.says}\n`);
}
