import { medianOf } from '../worker.ts';
import type { Line, SamplingOptions, Row } from './rows.ts';
import type { RunTimes } from './serve.ts';
import type { Layout, ContenderName, WorkerGroup } from './worker-group.ts';
import type { WorkerGroups } from './worker-groups.ts';

/** A measured value of a contender, with its range. */
export interface MeasuredValue {
  value: number;
  least: number;
  most: number;
}

/** A line of the table with its measurements. */
export interface Result {
  line: Line;
  heddle: MeasuredValue | undefined;
  baseline: MeasuredValue | undefined;
  /** Ratio of Heddle's time per run to the baseline's. */
  ratio: number | undefined;
  /** The same ratio, of the smallest times. */
  ratioOfLeast: number | undefined;
  /** CPU time of all processes of the contender per run, in milliseconds. */
  heddleCpuMs: number | undefined;
  baselineCpuMs: number | undefined;
  isTargetMet: boolean | undefined;
  /** The work of the hand-written workflow, if the work differs from that of Heddle. */
  note: string | undefined;
  /** Why the line has no metrics. */
  missingReason: string | undefined;
}

const ONE_PROCESS: Layout = [['engine', 'effects', 'segments']];

/** Measures one contender of a row. */
class ContenderSampler {
  readonly samples: RunTimes[] = [];
  cpuMs = 0;
  readonly #row: Row;
  readonly #contender: ContenderName;
  readonly #group: WorkerGroup;
  readonly #baseline: Row['baseline'];

  constructor(
    row: Row,
    { contender, group, quick }: { contender: ContenderName; group: WorkerGroup; quick: boolean },
  ) {
    this.#row = row;
    this.#contender = contender;
    this.#group = group;
    this.#baseline = (quick && row.baseline.quick) || row.baseline;
  }

  async sample(runs: number): Promise<RunTimes> {
    const row = this.#row;
    const contender = this.#contender;
    const { job } = contender === 'heddle' ? row : this.#baseline;
    return this.#group.run(job, { runs, concurrency: row.concurrency ?? 1 });
  }

  async measure(runs: number): Promise<void> {
    const initialCpuMs = await this.#group.readCpuMs();
    this.samples.push(await this.sample(runs));
    this.cpuMs += (await this.#group.readCpuMs()) - initialCpuMs;
  }

  get scale(): number {
    return this.#contender === 'baseline' ? (this.#baseline.scale ?? 1) : 1;
  }

  get cpuPerRunMs(): number {
    const runs = this.samples.reduce((sum, { runsMs }) => sum + runsMs.length, 0);
    return (this.cpuMs / runs) * this.scale;
  }

  computeMeasuredValue({ unit, quantile = 0.5 }: Line): MeasuredValue {
    const values =
      unit === 'ms'
        ? this.samples.flatMap(({ runsMs }) => runsMs.map((ms) => ms * this.scale))
        : this.samples.map(({ runsMs, durationMs }) => (runsMs.length / durationMs) * 1000);
    return {
      value: quantile === 0.5 ? medianOf(values) : quantileOf(values, quantile),
      least: Math.min(...values),
      most: Math.max(...values),
    };
  }
}

/** Measures a row. The contenders alternate, so that other load on the machine affects both. */
export async function measureRow(row: Row, groups: WorkerGroups, quick: boolean): Promise<Result[]> {
  const samplers: ContenderSampler[] = [];
  try {
    for (const contender of ['heddle', 'baseline'] as const) {
      const { layout = ONE_PROCESS, settings = {} } = row;
      samplers.push(
        new ContenderSampler(row, {
          contender,
          group: await groups.get({ contender, layout, settings }),
          quick,
        }),
      );
    }
    const [heddle, baseline] = samplers as [ContenderSampler, ContenderSampler];
    await measureAlternately(row, quick ? row.quick : row.full, [heddle, baseline]);
    return row.lines.map((line) => resultOf(row, line, { heddle, baseline }));
  } catch (error) {
    const missingReason = error instanceof Error ? error.message : String(error);
    return row.lines.map((line) => ({ ...NO_MEASURED_VALUES, line, missingReason }));
  }
}

async function measureAlternately(
  row: Row,
  samplingOptions: SamplingOptions,
  samplers: readonly ContenderSampler[],
): Promise<void> {
  // These runs warm up the compiler and caches.
  const { warmUpRuns = 2 } = row;
  for (const sampler of samplers) if (warmUpRuns > 0) await sampler.sample(warmUpRuns);
  for (let round = 0; round < samplingOptions.rounds; round++)
    for (const sampler of round % 2 === 0 ? samplers : samplers.toReversed())
      await sampler.measure(samplingOptions.runs);
}

/** A result without measured values. */
export const NO_MEASURED_VALUES = {
  heddle: undefined,
  baseline: undefined,
  ratio: undefined,
  ratioOfLeast: undefined,
  heddleCpuMs: undefined,
  baselineCpuMs: undefined,
  isTargetMet: undefined,
  note: undefined,
  missingReason: undefined,
} as const;

function resultOf(
  row: Row,
  line: Line,
  samplers: { heddle: ContenderSampler; baseline: ContenderSampler },
): Result {
  const [heddle, baseline] = [
    samplers.heddle.computeMeasuredValue(line),
    samplers.baseline.computeMeasuredValue(line),
  ];
  const isRate = line.unit === 'runs/s';
  const ratio = isRate ? baseline.value / heddle.value : heddle.value / baseline.value;
  return {
    line,
    heddle,
    baseline,
    ratio,
    ratioOfLeast: isRate ? baseline.most / heddle.most : heddle.least / baseline.least,
    heddleCpuMs: samplers.heddle.cpuPerRunMs,
    baselineCpuMs: samplers.baseline.cpuPerRunMs,
    isTargetMet: line.maxRatio === undefined ? undefined : ratio <= line.maxRatio,
    note: row.baseline.note,
    missingReason: undefined,
  };
}

function quantileOf(values: readonly number[], quantile: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * quantile))] as number;
}
