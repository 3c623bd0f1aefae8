import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { describeMachine } from '../report.ts';
import { prepareSetup } from './setup.ts';
import { measureMemory, MEMORY_ROWS } from './memory.ts';
import { measureRow } from './measure-row.ts';
import type { Result } from './measure-row.ts';
import { temporalJson, temporalTable } from './report.ts';
import { ROWS } from './rows.ts';
import { WorkerGroups } from './worker-groups.ts';

/** Measures the rows on a Temporal server and prints their table. */
export async function benchTemporal(
  { json, quick = false, only = '' }: { json?: string; quick?: boolean; only?: string },
  log: (text: string) => void,
): Promise<void> {
  const pattern = new RegExp(only, 'i');
  const rows = ROWS.filter(({ name, fullOnly }) => pattern.test(name) && !(quick && fullOnly));
  const memoryRows = MEMORY_ROWS.filter(({ line }) => pattern.test(line.name) && !quick);
  if (rows.length + memoryRows.length === 0) throw new Error(`No row matches "${only}".`);
  const setup = await prepareSetup(log);
  const groups = new WorkerGroups(setup);
  const results: Result[] = [];
  const save = (): void => {
    if (json !== undefined) writeFileSync(json, `${JSON.stringify(temporalJson(results), undefined, 2)}\n`);
  };
  const loadBefore = loadavg()[0] as number;
  try {
    for (const row of rows) {
      log(`${row.name} …`);
      results.push(...(await measureRow(row, groups, quick)));
      save();
    }
    await groups.stop();
    for (const row of memoryRows) {
      log(`${row.line.name} …`);
      results.push(await measureMemory(row, setup));
      save();
    }
  } finally {
    await groups.stop();
    await setup.close();
  }
  const load = `load ${loadBefore.toFixed(1)} before, ${(loadavg()[0] as number).toFixed(1)} after`;
  process.stdout.write(`${temporalTable(results)}\n\n${describeMachine()}; ${load}\n${setup.description}\n`);
}
