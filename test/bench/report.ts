import { cpus, release, totalmem } from 'node:os';
import type { RowResult } from './measure-row.ts';
import { NO_TARGET } from './rows.ts';

/** Formats a number with three significant digits. */
export function formatNumber(value: number | undefined): string {
  if (value === undefined) return '–';
  if (value >= 1000) return Math.round(value).toLocaleString('en-US');
  return String(Number(value.toPrecision(3)));
}

function formatSpread({ spread }: RowResult, name: string): string {
  const [min, max] = spread.get(name) ?? [];
  return min === undefined ? '' : ` (${formatNumber(min)}–${formatNumber(max)})`;
}

function formatRatio(ratio: number | undefined): string {
  return ratio === undefined ? '–' : `${formatNumber(ratio)}×`;
}

function formatVerdict({ isTargetMet, row }: RowResult): string {
  if (row.target === NO_TARGET) return '';
  return isTargetMet === undefined ? 'unknown' : isTargetMet ? 'met' : 'missed';
}

/** Returns the results as a Markdown table, and a second table with all peers and the reasons for missing metrics. */
export function tableOf(results: readonly RowResult[]): string {
  const lines = [
    '| row | unit | Heddle (spread) | baseline | × baseline | best peer | × best peer | target | |',
    '|---|---|---|---|---|---|---|---|---|',
  ];
  for (const result of results) {
    const { row, heddle, baseline, bestPeer, peers } = result;
    const bestPeerCell = bestPeer === undefined ? '–' : `${formatNumber(peers.get(bestPeer))} ${bestPeer}`;
    const cells = [
      row.name,
      row.unit,
      `${formatNumber(heddle)}${formatSpread(result, 'heddle')}`,
      `${formatNumber(baseline)}${formatSpread(result, 'baseline')}`,
      formatRatio(result.ratioToBaseline),
      bestPeerCell,
      formatRatio(result.ratioToBestPeer),
      row.target,
      formatVerdict(result),
    ];
    lines.push(`| ${cells.join(' | ')} |`);
  }
  return [...lines, '', ...peerTable(results)].join('\n');
}

function peerTable(results: readonly RowResult[]): string[] {
  const resultsWithPeers = results.filter(({ row }) => row.peers.length > 0);
  const lines = ['| row | peers: median (spread), or why there is none |', '|---|---|'];
  for (const result of resultsWithPeers) {
    const cells = result.row.peers.map((name) => {
      const value = result.peers.get(name);
      const text = value === undefined ? result.missingReasons.get(name) : formatNumber(value);
      return `${name} ${text}${formatSpread(result, name)}`;
    });
    lines.push(`| ${result.row.name} | ${cells.join('; ')} |`);
  }
  const incompleteResults = results.filter(
    ({ missingReasons }) => missingReasons.has('heddle') || missingReasons.has('baseline'),
  );
  for (const { row, missingReasons } of incompleteResults)
    for (const name of ['heddle', 'baseline'])
      if (missingReasons.has(name)) lines.push(`| ${row.name} | ${name}: ${missingReasons.get(name)} |`);
  return resultsWithPeers.length + incompleteResults.length === 0 ? [] : lines;
}

/** Returns the results for the file of `--json`; missing numbers are `null`. */
export function jsonOf(results: readonly RowResult[]): object[] {
  return results.map(({ row, peers, spread, missingReasons, ...metrics }) => ({
    row: row.name,
    unit: row.unit,
    ours: metrics.heddle ?? null,
    baseline: metrics.baseline ?? null,
    peers: Object.fromEntries(row.peers.map((name) => [name, peers.get(name) ?? null])),
    bestPeer: metrics.bestPeer ?? null,
    ratioToBestPeer: metrics.ratioToBestPeer ?? null,
    ratioToBaseline: metrics.ratioToBaseline ?? null,
    target: row.target,
    met: metrics.isTargetMet ?? null,
    spread: Object.fromEntries(spread),
    missing: Object.fromEntries(missingReasons),
  }));
}

/** Returns a description of the machine, in one line. */
export function describeMachine(): string {
  const [cpu] = cpus();
  const memory = Math.round(totalmem() / 1024 ** 3);
  return `${cpus().length} × ${cpu?.model ?? 'unknown processor'}, ${memory} GB, ${process.platform} ${release()}, Node ${process.versions.node}`;
}
