import type { Metrics } from '../metrics.ts';
import { resultOf } from '../measure-row.ts';
import type { ContenderSamples, SamplingOptions, RowResult } from '../measure-row.ts';
import { sendRequests } from './load.ts';
import { CONTENDER_NAMES } from './measurements.ts';
import type { ApiMeasurement, ApiRow } from './measurements.ts';
import type { Server } from './server.ts';
import type { ContenderName } from './contender.ts';
import { measureStreams } from './streams.ts';

type Sample = { readonly [metric: string]: number };

/** The warm-up also measures how many requests a sample needs. */
const WARM_UP_REQUESTS = 300;
const WARM_UP_MS = 1500;
/** Minimum number of requests of a sample. */
const MIN_REQUESTS = 40;

/** Takes samples of one contender of a measurement. */
class ContenderSampler {
  readonly contender: ContenderName;
  readonly samples: Sample[] = [];
  /** Why the contender is not measured further. */
  missingReason: string | undefined;
  readonly #measurement: ApiMeasurement;
  readonly #server: Server;
  readonly #samplingOptions: SamplingOptions & { quick: boolean };
  #requestCount = WARM_UP_REQUESTS;

  constructor(
    measurement: ApiMeasurement,
    server: Server,
    samplingOptions: SamplingOptions & { quick: boolean },
  ) {
    this.contender = server.contender;
    this.#measurement = measurement;
    this.#server = server;
    this.#samplingOptions = samplingOptions;
  }

  async warmUp(): Promise<void> {
    if ('streams' in this.#measurement) return;
    await this.#attempt(async () => {
      await this.#setRequestCount(await this.#measure(), WARM_UP_MS);
      await this.#setRequestCount(
        await this.#measure(),
        this.#samplingOptions.sampleMs * (this.#measurement.durationFactor ?? 1),
      );
    });
  }

  async sample(): Promise<void> {
    if (this.missingReason === undefined)
      await this.#attempt(async () => void this.samples.push(await this.#measure()));
  }

  async #setRequestCount(sample: Sample, sampleMs: number): Promise<void> {
    this.#requestCount = Math.max(MIN_REQUESTS, Math.round(((sample['perSecond'] ?? 0) * sampleMs) / 1000));
  }

  async #measure(): Promise<Sample> {
    const measurement = this.#measurement;
    if ('request' in measurement)
      return { ...(await sendRequests(this.#server, measurement.request(this.#server), this.#requestCount)) };
    const { quick, full } = measurement.streams;
    return { ...(await measureStreams(this.#server, this.#samplingOptions.quick ? quick : full)) };
  }

  /** Calls `measure`. If that fails, the contender is not measured further. */
  async #attempt(measure: () => Promise<void>): Promise<void> {
    try {
      await measure();
    } catch (error) {
      this.missingReason = error instanceof Error ? error.message : String(error);
    }
  }
}

/** Runs a measurement. The contenders alternate, and each round starts with a different contender. */
export async function runMeasurement(
  measurement: ApiMeasurement,
  servers: readonly Server[],
  {
    samplingOptions,
    earlierMetrics,
  }: { samplingOptions: SamplingOptions & { quick: boolean }; earlierMetrics: ReadonlyMap<string, Metrics> },
): Promise<RowResult[]> {
  const samplers = servers.map((server) => new ContenderSampler(measurement, server, samplingOptions));
  for (const sampler of samplers) await sampler.warmUp();
  for (let round = 0; round < samplingOptions.rounds; round++)
    for (const sampler of round % 2 === 0 ? samplers : samplers.toReversed()) await sampler.sample();
  return measurement.rows.map((row) => resultOf(row, samplesOf(row, samplers), earlierMetrics));
}

function samplesOf(
  row: Pick<ApiRow<never>, 'differenceTo'> & { metric: PropertyKey },
  samplers: readonly ContenderSampler[],
): ContenderSamples[] {
  const metric = String(row.metric);
  const contenders = samplers.map(({ contender, samples, missingReason }) => ({
    name: CONTENDER_NAMES[contender],
    values: samples.map((sample) => sample[metric] as number),
    missingReason,
  }));
  const { differenceTo } = row;
  if (differenceTo === undefined) return contenders;
  const [heddle, reference] = ['heddle', differenceTo].map((contender) =>
    contenders.find(({ name }) => name === CONTENDER_NAMES[contender as ContenderName]),
  );
  if (!heddle || !reference) return [];
  const values = heddle.values.map((value, round) => value - (reference.values[round] as number));
  return [{ name: heddle.name, values, missingReason: heddle.missingReason ?? reference.missingReason }];
}
