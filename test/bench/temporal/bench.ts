import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { machineLine } from '../report.ts';
import { prepare } from './ground.ts';
import { measureMemory, MEMORY_ROWS } from './memory.ts';
import { race } from './race.ts';
import type { Result } from './race.ts';
import { temporalJson, temporalTable } from './report.ts';
import { ROWS } from './rows.ts';
import { Teams } from './teams.ts';

/** Runs the rows on a Temporal server and prints their table. */
export async function benchTemporal(
  { json, quick = false, only = '' }: { json?: string; quick?: boolean; only?: string },
  say: (text: string) => void,
): Promise<void> {
  const pattern = new RegExp(only, 'i');
  const rows = ROWS.filter(({ name, fullOnly }) => pattern.test(name) && !(quick && fullOnly));
  const memory = MEMORY_ROWS.filter(({ line }) => pattern.test(line.name) && !quick);
  if (rows.length + memory.length === 0) throw new Error(`No row fits "${only}".`);
  const ground = await prepare(say);
  const teams = new Teams(ground);
  const results: Result[] = [];
  const save = (): void => {
    if (json !== undefined) writeFileSync(json, `${JSON.stringify(temporalJson(results), undefined, 2)}\n`);
  };
  const from = loadavg()[0] as number;
  try {
    for (const row of rows) {
      say(`${row.name} …`);
      results.push(...(await race(row, teams, quick)));
      save();
    }
    await teams.stop();
    for (const row of memory) {
      say(`${row.line.name} …`);
      results.push(await measureMemory(row, ground));
      save();
    }
  } finally {
    await teams.stop();
    await ground.close();
  }
  const load = `load ${from.toFixed(1)} before, ${(loadavg()[0] as number).toFixed(1)} after`;
  process.stdout.write(`${temporalTable(results)}\n\n${machineLine()}; ${load}\n${ground.says}\n`);
}
