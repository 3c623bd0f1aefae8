import { ContenderProcess } from './contender-process.ts';
import { metricsOf } from './metrics.ts';
import type { Metrics } from './metrics.ts';
import type { TableRow, Row } from './rows.ts';
import { medianOf } from './worker.ts';

/** A row of the table with its measurements. */
export interface RowResult extends Metrics {
  row: TableRow;
  isTargetMet: boolean | undefined;
  /** Smallest and largest sample of each contender. */
  spread: ReadonlyMap<string, readonly [number, number]>;
  /** Reasons why contenders have no metrics. */
  missingReasons: ReadonlyMap<string, string>;
}

/** Number of rounds, and the duration of a sample. */
export interface SamplingOptions {
  rounds: number;
  sampleMs: number;
}

/** Measures a row. Each contender takes one sample per round, so that other load on the machine affects all of them. */
export async function measureRow(
  row: Row,
  samplingOptions: SamplingOptions,
  earlierMetrics: ReadonlyMap<string, Metrics>,
): Promise<RowResult> {
  const names = ['heddle', ...(row.hasBaseline ? ['baseline'] : []), ...row.peers];
  const contenderOf = (name: string): string => (name === 'heddle' ? (row.contender ?? name) : name);
  const contenders = await Promise.all(
    names.map((name) => ContenderProcess.start(name, row, contenderOf(name))),
  );
  const toUnit = (measuredValue: number): number =>
    row.isRate === true ? row.scale / measuredValue : measuredValue * row.scale;
  try {
    const rounds = Math.min(samplingOptions.rounds, row.rounds ?? samplingOptions.rounds);
    for (let round = 0; round < rounds; round++)
      for (const contender of contenders) await contender.sample(samplingOptions.sampleMs, toUnit);
  } finally {
    await Promise.all(contenders.map((contender) => contender.stop()));
  }
  return resultOf(row, contenders, earlierMetrics);
}

/** Measurements of a contender for a row. */
export interface ContenderSamples {
  name: string;
  /** One value per sample, in the row's unit. */
  values: readonly number[];
  missingReason: string | undefined;
}

/** Returns the row with the medians of the contenders and the ratios of the medians. */
export function resultOf(
  row: TableRow,
  contenders: readonly ContenderSamples[],
  earlierMetrics: ReadonlyMap<string, Metrics>,
): RowResult {
  const measuredContenders = contenders.filter(({ missingReason }) => missingReason === undefined);
  const metrics = metricsOf(
    new Map(measuredContenders.map(({ name, values }) => [name, medianOf(values)])),
    row.isRate,
  );
  return {
    row,
    ...metrics,
    isTargetMet: row.isTargetMet(metrics, earlierMetrics),
    spread: new Map(
      measuredContenders.map(({ name, values }) => [name, [Math.min(...values), Math.max(...values)]]),
    ),
    missingReasons: new Map(
      contenders.flatMap(({ name, missingReason }) =>
        missingReason === undefined ? [] : [[name, missingReason]],
      ),
    ),
  };
}
