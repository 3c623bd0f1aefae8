import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { findBubblewrap } from '../support/bubblewrap.ts';
import { benchApi } from './api/bench.ts';
import type { Metrics } from './metrics.ts';
import { installPeers } from './install.ts';
import { measureRow } from './measure-row.ts';
import type { SamplingOptions, RowResult } from './measure-row.ts';
import { jsonOf, describeMachine, tableOf } from './report.ts';
import { ROWS } from './rows.ts';
import { SANDBOX_ROWS } from './sandbox/rows.ts';
import { benchStudio } from './studio/bench.ts';
import { benchTemporal } from './temporal/bench.ts';
import { serve } from './worker.ts';
import type { WorkloadName } from './workload.ts';
import type { Row } from './rows.ts';
import { openImages, IMAGE_SPECS } from './sandbox/images.ts';

const FULL_SAMPLING: SamplingOptions = { rounds: 7, sampleMs: 400 };
const QUICK_SAMPLING: SamplingOptions = { rounds: 3, sampleMs: 60 };

/** Rounds of rows with long samples if `--quick` is set. */
const QUICK_LONG_ROUNDS = 1;

function log(text: string): void {
  process.stderr.write(`${text}\n`);
}

/** Returns the options of the command. */
function parseOptions() {
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
  const options = parseOptions();
  if (options.temporal) return benchTemporal(options, log);
  if (options.studio) return benchStudio(options, log);
  return options.api ? benchApi(options, log) : benchRows(options);
}

async function benchRows(options: ReturnType<typeof parseOptions>): Promise<void> {
  const pattern = new RegExp(options.only ?? '', 'i');
  const rows = (options.sandbox ? SANDBOX_ROWS : ROWS).filter(({ name }) => pattern.test(name));
  if (rows.length === 0) throw new Error(`No row matches "${options.only}".`);
  const installError = await installPeers(log);
  if (installError !== undefined) log(`Some peers could not be installed: ${installError}`);
  if (options.sandbox) await prepareSandboxes(rows, log);
  const results: RowResult[] = [];
  const earlierMetrics = new Map<string, Metrics>();
  const loadBefore = loadavg()[0] as number;
  for (const row of rows) {
    log(`${row.name} …`);
    const hasLongSamples = options.quick && row.rounds !== undefined;
    const samplingOptions = options.quick
      ? { ...QUICK_SAMPLING, ...(hasLongSamples && { rounds: QUICK_LONG_ROUNDS }) }
      : FULL_SAMPLING;
    const result = await measureRow(row, samplingOptions, earlierMetrics);
    earlierMetrics.set(row.name, result);
    results.push(result);
    if (options.json !== undefined)
      writeFileSync(options.json, `${JSON.stringify(jsonOf(results), undefined, 2)}\n`);
  }
  const load = `load ${loadBefore.toFixed(1)} before, ${(loadavg()[0] as number).toFixed(1)} after`;
  process.stdout.write(`${tableOf(results)}\n\n${describeMachine()}; ${load}\n`);
}

const [mode, contender, workload, size] = process.argv.slice(2);
if (mode === 'serve' && process.send)
  await serve(contender as string, workload as WorkloadName, Number(size));
else await bench();

/**
 * Prepares bubblewrap and images before the contenders start, and prints which images failed. For contenders that need
 * a failed image, the table shows the reason instead of metrics.
 */
async function prepareSandboxes(rows: readonly Row[], log: (text: string) => void): Promise<void> {
  if (rows.some(({ contender }) => contender === 'heddle-strict')) findBubblewrap();
  const names = new Set(rows.flatMap(({ image }) => image ?? []));
  if (names.size === 0) return;
  const images = openImages();
  try {
    for (const name of names) {
      const onProgress = (step: string): void => log(`Image of ${name}: ${step}`);
      const { state, errorCode, errorMessage } = await images.build(IMAGE_SPECS[name], { name, onProgress });
      if (state !== 'ready') log(`The image of ${name} could not be built (${errorCode}): ${errorMessage}`);
    }
  } finally {
    await images.close();
  }
}
