import { ContenderProcess } from './contender-process.ts';
import { figuresOf } from './figures.ts';
import type { Figures } from './figures.ts';
import type { TableRow, Row } from './rows.ts';
import { medianOf } from './worker.ts';

/** A row of the table with its measurements. */
export interface Result extends Figures {
  row: TableRow;
  met: boolean | undefined;
  /** Smallest and largest sample of each contender. */
  spread: ReadonlyMap<string, readonly [number, number]>;
  /** Reasons why contenders have no figures. */
  missing: ReadonlyMap<string, string>;
}

/** Number of rounds, and the duration of a sample. */
export interface Pace {
  rounds: number;
  sampleMs: number;
}

/** Measures a row. Each contender takes one sample per round, so that other load on the machine affects all of them. */
export async function measureRow(
  row: Row,
  pace: Pace,
  earlierRows: ReadonlyMap<string, Figures>,
): Promise<Result> {
  const names = ['heddle', ...(row.hasBaseline ? ['baseline'] : []), ...row.peers];
  const contenderOf = (name: string): string => (name === 'heddle' ? (row.contender ?? name) : name);
  const contenders = await Promise.all(
    names.map((name) => ContenderProcess.start(name, row, contenderOf(name))),
  );
  const toUnit = (measured: number): number =>
    row.isRate === true ? row.scale / measured : measured * row.scale;
  try {
    const rounds = Math.min(pace.rounds, row.rounds ?? pace.rounds);
    for (let round = 0; round < rounds; round++)
      for (const contender of contenders) await contender.sample(pace.sampleMs, toUnit);
  } finally {
    await Promise.all(contenders.map((contender) => contender.stop()));
  }
  return resultOf(row, contenders, earlierRows);
}

/** Measurements of a contender for a row. */
export interface ContenderSamples {
  name: string;
  /** One value per sample, in the row's unit. */
  values: readonly number[];
  missing: string | undefined;
}

/** Returns the row with the medians of the contenders and the ratios of the medians. */
export function resultOf(
  row: TableRow,
  contenders: readonly ContenderSamples[],
  earlierRows: ReadonlyMap<string, Figures>,
): Result {
  const measured = contenders.filter(({ missing }) => missing === undefined);
  const figures = figuresOf(
    new Map(measured.map(({ name, values }) => [name, medianOf(values)])),
    row.isRate,
  );
  return {
    row,
    ...figures,
    met: row.met(figures, earlierRows),
    spread: new Map(measured.map(({ name, values }) => [name, [Math.min(...values), Math.max(...values)]])),
    missing: new Map(
      contenders.flatMap(({ name, missing }) => (missing === undefined ? [] : [[name, missing]])),
    ),
  };
}
