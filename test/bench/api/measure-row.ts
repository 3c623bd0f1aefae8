import type { Figures } from '../figures.ts';
import { resultOf } from '../measure-row.ts';
import type { ContenderSamples, Pace, Result } from '../measure-row.ts';
import { sendRequests } from './load.ts';
import { CONTENDER_NAMES } from './rows.ts';
import type { ApiLine, ApiRow } from './rows.ts';
import type { Server } from './server.ts';
import type { ContenderName } from './contender.ts';
import { measureStreams } from './streams.ts';

type Sample = { readonly [figure: string]: number };

/** The warm-up also measures how many requests a sample needs. */
const WARM_UP_REQUESTS = 300;
const WARM_UP_MS = 1500;
/** Minimum number of requests of a sample. */
const MIN_REQUESTS = 40;

/** Takes samples of one contender of a row. */
class ContenderSampler {
  readonly contender: ContenderName;
  readonly samples: Sample[] = [];
  /** Why the contender is not measured further. */
  failure: string | undefined;
  readonly #row: ApiRow;
  readonly #server: Server;
  readonly #pace: Pace & { quick: boolean };
  #amount = WARM_UP_REQUESTS;

  constructor(row: ApiRow, server: Server, pace: Pace & { quick: boolean }) {
    this.contender = server.contender;
    this.#row = row;
    this.#server = server;
    this.#pace = pace;
  }

  async warmUp(): Promise<void> {
    if ('streams' in this.#row) return;
    await this.#attempt(async () => {
      await this.#setAmount(await this.#measure(), WARM_UP_MS);
      await this.#setAmount(await this.#measure(), this.#pace.sampleMs * (this.#row.durationFactor ?? 1));
    });
  }

  async sample(): Promise<void> {
    if (this.failure === undefined)
      await this.#attempt(async () => void this.samples.push(await this.#measure()));
  }

  async #setAmount(sample: Sample, sampleMs: number): Promise<void> {
    this.#amount = Math.max(MIN_REQUESTS, Math.round(((sample['perSecond'] ?? 0) * sampleMs) / 1000));
  }

  async #measure(): Promise<Sample> {
    const row = this.#row;
    if ('request' in row)
      return { ...(await sendRequests(this.#server, row.request(this.#server), this.#amount)) };
    const { quick, full } = row.streams;
    return { ...(await measureStreams(this.#server, this.#pace.quick ? quick : full)) };
  }

  /** Calls `measure`. If that fails, the contender is not measured further. */
  async #attempt(measure: () => Promise<void>): Promise<void> {
    try {
      await measure();
    } catch (error) {
      this.failure = error instanceof Error ? error.message : String(error);
    }
  }
}

/** Measures a row. The contenders alternate, and each round starts with a different contender. */
export async function measureRow(
  row: ApiRow,
  servers: readonly Server[],
  { pace, otherFigures }: { pace: Pace & { quick: boolean }; otherFigures: ReadonlyMap<string, Figures> },
): Promise<Result[]> {
  const samplers = servers.map((server) => new ContenderSampler(row, server, pace));
  for (const sampler of samplers) await sampler.warmUp();
  for (let round = 0; round < pace.rounds; round++)
    for (const sampler of round % 2 === 0 ? samplers : samplers.toReversed()) await sampler.sample();
  return row.lines.map((line) => resultOf(line, samplesOf(line, samplers), otherFigures));
}

function samplesOf(
  line: Pick<ApiLine<never>, 'differenceTo'> & { figure: PropertyKey },
  samplers: readonly ContenderSampler[],
): ContenderSamples[] {
  const figure = String(line.figure);
  const contenders = samplers.map(({ contender, samples, failure }) => ({
    name: CONTENDER_NAMES[contender],
    values: samples.map((sample) => sample[figure] as number),
    missing: failure,
  }));
  const { differenceTo } = line;
  if (differenceTo === undefined) return contenders;
  const [ours, compared] = ['heddle', differenceTo].map((contender) =>
    contenders.find(({ name }) => name === CONTENDER_NAMES[contender as ContenderName]),
  );
  if (!ours || !compared) return [];
  const values = ours.values.map((value, round) => value - (compared.values[round] as number));
  return [{ name: ours.name, values, missing: ours.missing ?? compared.missing }];
}
