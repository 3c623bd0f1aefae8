import { Entrant } from './entrant.ts';
import { figuresOf } from './figures.ts';
import type { Figures } from './figures.ts';
import type { Line, Row } from './rows.ts';
import { medianOf } from './worker.ts';

/** A line with what was measured. */
export interface Result extends Figures {
  row: Line;
  met: boolean | undefined;
  /** Smallest and largest sample of each contender. */
  spread: ReadonlyMap<string, readonly [number, number]>;
  /** Contenders without a number, and why. */
  missing: ReadonlyMap<string, string>;
}

export interface Pace {
  rounds: number;
  sampleMs: number;
}

/** Runs a row: in each round every contender takes one sample, so that what else the machine does meets them all. */
export async function race(row: Row, pace: Pace, others: ReadonlyMap<string, Figures>): Promise<Result> {
  const names = ['heddle', ...(row.floor ? ['floor'] : []), ...row.peers];
  const contender = (name: string): string => (name === 'heddle' ? (row.contender ?? name) : name);
  const entrants = await Promise.all(names.map((name) => Entrant.start(name, row, contender(name))));
  const inUnit = (measured: number): number =>
    row.isRate === true ? row.scale / measured : measured * row.scale;
  try {
    const rounds = Math.min(pace.rounds, row.rounds ?? pace.rounds);
    for (let round = 0; round < rounds; round++)
      for (const entrant of entrants) await entrant.sample(pace.sampleMs, inUnit);
  } finally {
    await Promise.all(entrants.map((entrant) => entrant.stop()));
  }
  return resultOf(row, entrants, others);
}

/** What a contender has come to at a line. */
export interface Entered {
  name: string;
  /** One of each sample, in the line's unit. */
  values: readonly number[];
  missing: string | undefined;
}

/** The line with the medians of its contenders, and how they compare. */
export function resultOf(
  row: Line,
  entrants: readonly Entered[],
  others: ReadonlyMap<string, Figures>,
): Result {
  const ran = entrants.filter(({ missing }) => missing === undefined);
  const figures = figuresOf(new Map(ran.map(({ name, values }) => [name, medianOf(values)])), row.isRate);
  return {
    row,
    ...figures,
    met: row.met(figures, others),
    spread: new Map(ran.map(({ name, values }) => [name, [Math.min(...values), Math.max(...values)]])),
    missing: new Map(
      entrants.flatMap(({ name, missing }) => (missing === undefined ? [] : [[name, missing]])),
    ),
  };
}
