import { medianOf } from '../worker.ts';
import type { Line, Pace, Row } from './rows.ts';
import type { Took } from './serve.ts';
import type { Layout, SideName, Team } from './team.ts';
import type { Teams } from './teams.ts';

/** A figure of one side. */
export interface Figure {
  value: number;
  least: number;
  most: number;
}

/** A line of the table with what was measured. */
export interface Result {
  line: Line;
  ours: Figure | undefined;
  hand: Figure | undefined;
  /** Time for each run as a multiple of the other side's: of the figures, and of the smallest times. */
  ratio: number | undefined;
  ratioOfLeast: number | undefined;
  /** CPU time of the side's processes for each run, in milliseconds. */
  oursCpuMs: number | undefined;
  handCpuMs: number | undefined;
  met: boolean | undefined;
  /** What the hand-written workflow did, where that was something else. */
  note: string | undefined;
  /** Why there are no figures. */
  missing: string | undefined;
}

const ONE_PROCESS: Layout = [['engine', 'effects', 'segments']];

/** One side of a row, with what it has come to. */
class Entrant {
  readonly tooks: Took[] = [];
  cpuMs = 0;
  private readonly row: Row;
  private readonly side: SideName;
  private readonly team: Team;
  private readonly hand: Row['hand'];

  constructor(row: Row, { side, team, quick }: { side: SideName; team: Team; quick: boolean }) {
    this.row = row;
    this.side = side;
    this.team = team;
    this.hand = (quick && row.hand.quick) || row.hand;
  }

  async sample(runs: number): Promise<Took> {
    const { row, side } = this;
    const { job } = side === 'heddle' ? row : this.hand;
    return this.team.run(job, { runs, inFlight: row.inFlight ?? 1 });
  }

  async measure(runs: number): Promise<void> {
    const before = await this.team.cpu();
    this.tooks.push(await this.sample(runs));
    this.cpuMs += (await this.team.cpu()) - before;
  }

  get scale(): number {
    return this.side === 'hand' ? (this.hand.scale ?? 1) : 1;
  }

  get cpuPerRunMs(): number {
    const runs = this.tooks.reduce((sum, { runsMs }) => sum + runsMs.length, 0);
    return (this.cpuMs / runs) * this.scale;
  }

  figure({ unit, quantile = 0.5 }: Line): Figure {
    const values =
      unit === 'ms'
        ? this.tooks.flatMap(({ runsMs }) => runsMs.map((ms) => ms * this.scale))
        : this.tooks.map(({ runsMs, tookMs }) => (runsMs.length / tookMs) * 1000);
    return {
      value: quantile === 0.5 ? medianOf(values) : quantileOf(values, quantile),
      least: Math.min(...values),
      most: Math.max(...values),
    };
  }
}

/** Runs a row: both sides take turns, so that what else the machine does meets both. */
export async function race(row: Row, teams: Teams, quick: boolean): Promise<Result[]> {
  const entrants: Entrant[] = [];
  try {
    for (const side of ['heddle', 'hand'] as const) {
      const { layout = ONE_PROCESS, mode = {} } = row;
      entrants.push(new Entrant(row, { side, team: await teams.get({ side, layout, mode }), quick }));
    }
    const [ours, hand] = entrants as [Entrant, Entrant];
    await takeTurns(row, quick ? row.quick : row.full, [ours, hand]);
    return row.lines.map((line) => resultOf(row, line, { ours, hand }));
  } catch (error) {
    const missing = error instanceof Error ? error.message : String(error);
    return row.lines.map((line) => ({ ...NOTHING, line, missing }));
  }
}

async function takeTurns(row: Row, pace: Pace, entrants: readonly Entrant[]): Promise<void> {
  // Before anything is timed: compiled code, filled caches.
  const { warm = 2 } = row;
  for (const entrant of entrants) if (warm > 0) await entrant.sample(warm);
  for (let round = 0; round < pace.rounds; round++)
    for (const entrant of round % 2 === 0 ? entrants : entrants.toReversed())
      await entrant.measure(pace.runs);
}

/** A result without figures. */
export const NOTHING = {
  ours: undefined,
  hand: undefined,
  ratio: undefined,
  ratioOfLeast: undefined,
  oursCpuMs: undefined,
  handCpuMs: undefined,
  met: undefined,
  note: undefined,
  missing: undefined,
} as const;

function resultOf(row: Row, line: Line, sides: { ours: Entrant; hand: Entrant }): Result {
  const [ours, hand] = [sides.ours.figure(line), sides.hand.figure(line)];
  const isRate = line.unit === 'runs/s';
  const ratio = isRate ? hand.value / ours.value : ours.value / hand.value;
  return {
    line,
    ours,
    hand,
    ratio,
    ratioOfLeast: isRate ? hand.most / ours.most : ours.least / hand.least,
    oursCpuMs: sides.ours.cpuPerRunMs,
    handCpuMs: sides.hand.cpuPerRunMs,
    met: line.most === undefined ? undefined : ratio <= line.most,
    note: row.hand.note,
    missing: undefined,
  };
}

function quantileOf(values: readonly number[], quantile: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * quantile))] as number;
}
