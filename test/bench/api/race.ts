import type { Figures } from '../figures.ts';
import { resultOf } from '../race.ts';
import type { Entered, Pace, Result } from '../race.ts';
import { fire } from './load.ts';
import { NAMES } from './rows.ts';
import type { ApiLine, ApiRow } from './rows.ts';
import type { Server } from './server.ts';
import type { ContenderName } from './contender.ts';
import { stream } from './streams.ts';

type Sample = { readonly [figure: string]: number };

/** Warm-up, which also measures how many requests a sample has. */
const WARM = 300;
const WARM_MS = 1500;
/** Minimum number of requests of a sample. */
const FEWEST = 40;

/** One contender of a row, with its samples. */
class Entrant {
  readonly contender: ContenderName;
  readonly samples: Sample[] = [];
  missing: string | undefined;
  readonly #row: ApiRow;
  readonly #server: Server;
  readonly #pace: Pace & { quick: boolean };
  #amount = WARM;

  constructor(row: ApiRow, server: Server, pace: Pace & { quick: boolean }) {
    this.contender = server.contender;
    this.#row = row;
    this.#server = server;
    this.#pace = pace;
  }

  async warm(): Promise<void> {
    if ('streams' in this.#row) return;
    await this.#guarded(async () => {
      await this.#aim(await this.#measure(), WARM_MS);
      await this.#aim(await this.#measure(), this.#pace.sampleMs * (this.#row.longer ?? 1));
    });
  }

  async sample(): Promise<void> {
    if (this.missing === undefined)
      await this.#guarded(async () => void this.samples.push(await this.#measure()));
  }

  async #aim(sample: Sample, sampleMs: number): Promise<void> {
    this.#amount = Math.max(FEWEST, Math.round(((sample['perSecond'] ?? 0) * sampleMs) / 1000));
  }

  async #measure(): Promise<Sample> {
    const row = this.#row;
    if ('shot' in row) return { ...(await fire(this.#server, row.shot(this.#server), this.#amount)) };
    const { quick, full } = row.streams;
    return { ...(await stream(this.#server, this.#pace.quick ? quick : full)) };
  }

  /** Calls `attempt`. If it fails, the contender is not measured further. */
  async #guarded(attempt: () => Promise<void>): Promise<void> {
    try {
      await attempt();
    } catch (error) {
      this.missing = error instanceof Error ? error.message : String(error);
    }
  }
}

/** Measures a row. The contenders alternate, and each round starts with a different contender. */
export async function race(
  row: ApiRow,
  servers: readonly Server[],
  { pace, others }: { pace: Pace & { quick: boolean }; others: ReadonlyMap<string, Figures> },
): Promise<Result[]> {
  const entrants = servers.map((server) => new Entrant(row, server, pace));
  for (const entrant of entrants) await entrant.warm();
  for (let round = 0; round < pace.rounds; round++)
    for (const entrant of round % 2 === 0 ? entrants : entrants.toReversed()) await entrant.sample();
  return row.lines.map((line) => resultOf(line, entered(line, entrants), others));
}

function entered(
  line: Pick<ApiLine<never>, 'over'> & { figure: PropertyKey },
  entrants: readonly Entrant[],
): Entered[] {
  const figure = String(line.figure);
  const all = entrants.map(({ contender, samples, missing }) => ({
    name: NAMES[contender],
    values: samples.map((sample) => sample[figure] as number),
    missing,
  }));
  const { over } = line;
  if (over === undefined) return all;
  const [ours, theirs] = ['heddle', over].map((contender) =>
    all.find(({ name }) => name === NAMES[contender as ContenderName]),
  );
  if (!ours || !theirs) return [];
  const values = ours.values.map((value, round) => value - (theirs.values[round] as number));
  return [{ name: ours.name, values, missing: ours.missing ?? theirs.missing }];
}
