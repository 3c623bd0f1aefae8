import { cpus, release, totalmem } from 'node:os';
import type { Result } from './measure-row.ts';
import { NO_TARGET } from './rows.ts';

/** Formats a number with three significant digits. */
export function formatNumber(value: number | undefined): string {
  if (value === undefined) return '–';
  if (value >= 1000) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}

function formatSpread({ spread }: Result, name: string): string {
  const [min, max] = spread.get(name) ?? [];
  return min === undefined ? '' : ` (${formatNumber(min)}–${formatNumber(max)})`;
}

function formatRatio(ratio: number | undefined): string {
  return ratio === undefined ? '–' : `${formatNumber(ratio)}×`;
}

function verdict({ met, row }: Result): string {
  if (row.target === NO_TARGET) return '';
  return met === undefined ? 'unknown' : met ? 'met' : 'missed';
}

/** Returns the results as a Markdown table, and a second table with all peers and the reasons for missing figures. */
export function tableOf(results: readonly Result[]): string {
  const lines = [
    '| row | unit | Heddle (spread) | baseline | × baseline | best peer | × best peer | target | |',
    '|---|---|---|---|---|---|---|---|---|',
  ];
  for (const result of results) {
    const { row, ours, baseline, bestPeer, peers } = result;
    const best = bestPeer === undefined ? '–' : `${formatNumber(peers.get(bestPeer))} ${bestPeer}`;
    const cells = [
      row.name,
      row.unit,
      `${formatNumber(ours)}${formatSpread(result, 'heddle')}`,
      `${formatNumber(baseline)}${formatSpread(result, 'baseline')}`,
      formatRatio(result.ratioToBaseline),
      best,
      formatRatio(result.ratioToBestPeer),
      row.target,
      verdict(result),
    ];
    lines.push(`| ${cells.join(' | ')} |`);
  }
  return [...lines, '', ...peerTable(results)].join('\n');
}

function peerTable(results: readonly Result[]): string[] {
  const withPeers = results.filter(({ row }) => row.peers.length > 0);
  const lines = ['| row | peers: median (spread), or why there is none |', '|---|---|'];
  for (const result of withPeers) {
    const cells = result.row.peers.map((name) => {
      const value = result.peers.get(name);
      const figure = value === undefined ? result.missing.get(name) : formatNumber(value);
      return `${name} ${figure}${formatSpread(result, name)}`;
    });
    lines.push(`| ${result.row.name} | ${cells.join('; ')} |`);
  }
  const incomplete = results.filter(({ missing }) => missing.has('heddle') || missing.has('baseline'));
  for (const { row, missing } of incomplete)
    for (const name of ['heddle', 'baseline'])
      if (missing.has(name)) lines.push(`| ${row.name} | ${name}: ${missing.get(name)} |`);
  return withPeers.length + incomplete.length === 0 ? [] : lines;
}

/** Returns the results for the file of `--json`; missing numbers are `null`. */
export function jsonOf(results: readonly Result[]): object[] {
  return results.map(({ row, peers, spread, missing, ...figures }) => ({
    row: row.name,
    unit: row.unit,
    ours: figures.ours ?? null,
    baseline: figures.baseline ?? null,
    peers: Object.fromEntries(row.peers.map((name) => [name, peers.get(name) ?? null])),
    bestPeer: figures.bestPeer ?? null,
    ratioToBestPeer: figures.ratioToBestPeer ?? null,
    ratioToBaseline: figures.ratioToBaseline ?? null,
    target: row.target,
    met: figures.met ?? null,
    spread: Object.fromEntries(spread),
    missing: Object.fromEntries(missing),
  }));
}

/** Returns a description of the machine, in one line. */
export function describeMachine(): string {
  const [cpu] = cpus();
  const memory = Math.round(totalmem() / 1024 ** 3);
  return `${cpus().length} × ${cpu?.model ?? 'unknown processor'}, ${memory} GB, ${process.platform} ${release()}, Node ${process.versions.node}`;
}
