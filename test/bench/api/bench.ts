import { writeFileSync } from 'node:fs';
import { loadavg } from 'node:os';
import type { Metrics } from '../metrics.ts';
import { installPeers } from '../install.ts';
import type { SamplingOptions, RowResult } from '../measure-row.ts';
import { jsonOf, describeMachine, tableOf } from '../report.ts';
import { runMeasurement } from './run-measurement.ts';
import { API_MEASUREMENTS } from './measurements.ts';
import { Server } from './server.ts';

const FULL_SAMPLING: SamplingOptions = { rounds: 7, sampleMs: 1000 };
const QUICK_SAMPLING: SamplingOptions = { rounds: 3, sampleMs: 100 };

/** Runs the measurements of the HTTP API and prints the table of their rows. */
export async function benchApi(
  { json, quick = false, only = '' }: { json?: string; quick?: boolean; only?: string },
  log: (text: string) => void,
): Promise<void> {
  const pattern = new RegExp(only, 'i');
  const measurements = API_MEASUREMENTS.filter(({ name }) => pattern.test(name));
  if (measurements.length === 0) throw new Error(`No row matches "${only}".`);
  const installError = await installPeers(log);
  if (installError !== undefined)
    throw new Error(`autocannon is missing, because the peers are not installed: ${installError}`);
  const samplingOptions = { ...(quick ? QUICK_SAMPLING : FULL_SAMPLING), quick };
  const results: RowResult[] = [];
  const earlierMetrics = new Map<string, Metrics>();
  const loadBefore = loadavg()[0] as number;
  for (const measurement of measurements) {
    log(`${measurement.name} …`);
    const servers: Server[] = [];
    try {
      for (const contender of measurement.contenders)
        servers.push(await Server.start(contender, measurement.storage));
      for (const result of await runMeasurement(measurement, servers, { samplingOptions, earlierMetrics })) {
        earlierMetrics.set(result.row.name, result);
        results.push(result);
      }
    } finally {
      await Promise.all(servers.map((server) => server.stop()));
    }
    if (json !== undefined) writeFileSync(json, `${JSON.stringify(jsonOf(results), undefined, 2)}\n`);
  }
  const load = `load ${loadBefore.toFixed(1)} before, ${(loadavg()[0] as number).toFixed(1)} after`;
  process.stdout.write(`${tableOf(results)}\n\n${describeMachine()}; ${load}\n`);
}
