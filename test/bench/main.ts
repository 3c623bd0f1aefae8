import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { benchApi } from './api/bench.ts';
import type { Figures } from './figures.ts';
import { installPeers } from './install.ts';
import { measureRow } from './measure-row.ts';
import type { Pace, Result } from './measure-row.ts';
import { jsonOf, machineLine, tableOf } from './report.ts';
import { ROWS } from './rows.ts';
import { prepareSandboxes } from './sandbox/prepare.ts';
import { SANDBOX_ROWS } from './sandbox/rows.ts';
import { benchStudio } from './studio/bench.ts';
import { benchTemporal } from './temporal/bench.ts';
import { serve } from './worker.ts';
import type { WorkloadName } from './workload.ts';

const FULL: Pace = { rounds: 7, sampleMs: 400 };
const QUICK: Pace = { rounds: 3, sampleMs: 60 };

/** Rounds of rows with long samples if `--quick` is set. */
const QUICK_LONG_ROUNDS = 1;

function say(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Returns the options of the command. */
function options() {
  return parseArgs({
    options: {
      api: { type: 'boolean' },
      json: { type: 'string' },
      quick: { type: 'boolean' },
      only: { type: 'string' },
      sandbox: { type: 'boolean' },
      studio: { type: 'boolean' },
      temporal: { type: 'boolean' },
    },
  }).values;
}

function bench(): Promise<void> {
  const values = options();
  if (values.temporal) return benchTemporal(values, say);
  if (values.studio) return benchStudio(values, say);
  return values.api ? benchApi(values, say) : benchRows(values);
}

async function benchRows(values: ReturnType<typeof options>): Promise<void> {
  const pattern = new RegExp(values.only ?? '', 'i');
  const rows = (values.sandbox ? SANDBOX_ROWS : ROWS).filter(({ name }) => pattern.test(name));
  if (rows.length === 0) throw new Error(`No row matches "${values.only}".`);
  const problem = await installPeers(say);
  if (problem !== undefined) say(`Some peers could not be installed: ${problem}`);
  if (values.sandbox) await prepareSandboxes(rows, say);
  const results: Result[] = [];
  const figures = new Map<string, Figures>();
  const loadBefore = loadavg()[0] as number;
  for (const row of rows) {
    say(`${row.name} …`);
    const isLong = values.quick && row.rounds !== undefined;
    const pace = values.quick ? { ...QUICK, ...(isLong && { rounds: QUICK_LONG_ROUNDS }) } : FULL;
    const result = await measureRow(row, pace, figures);
    figures.set(row.name, result);
    results.push(result);
    if (values.json !== undefined)
      writeFileSync(values.json, `${JSON.stringify(jsonOf(results), undefined, 2)}\n`);
  }
  const load = `load ${loadBefore.toFixed(1)} before, ${(loadavg()[0] as number).toFixed(1)} after`;
  process.stdout.write(`${tableOf(results)}\n\n${machineLine()}; ${load}\n`);
}

const [mode, name, workload, size] = process.argv.slice(2);
if (mode === 'serve' && process.send) await serve(name as string, workload as WorkloadName, Number(size));
else await bench();
