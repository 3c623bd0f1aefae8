import { formatNumber } from '../report.ts';
import type { Figure, Result } from './measure-row.ts';

function formatFigure(figure: Figure | undefined): string {
  return figure
    ? `${formatNumber(figure.value)} (${formatNumber(figure.least)}–${formatNumber(figure.most)})`
    : '–';
}

function formatRatio(ratio: number | undefined): string {
  return ratio === undefined ? '–' : `${formatNumber(ratio)}×`;
}

function formatVerdict({ line, isTargetMet, missingReason }: Result): string {
  if (missingReason !== undefined) return `none: ${missingReason}`;
  if (line.maxRatio === undefined) return '';
  return isTargetMet === true ? 'met' : 'missed';
}

/** Returns the results as a Markdown table. */
export function temporalTable(results: readonly Result[]): string {
  const lines = [
    '| row | unit | Heddle (spread) | hand-written (spread) | × hand-written | × of minimum | CPU ms per run, Heddle / hand-written | target | |',
    '|---|---|---|---|---|---|---|---|---|',
  ];
  for (const result of results) {
    const { line, heddle, baseline, ratio, ratioOfLeast, heddleCpuMs, baselineCpuMs, note } = result;
    const cells = [
      line.name,
      line.unit,
      formatFigure(heddle),
      `${formatFigure(baseline)}${note === undefined ? '' : ` ${note}`}`,
      formatRatio(ratio),
      formatRatio(ratioOfLeast),
      `${formatNumber(heddleCpuMs)} / ${formatNumber(baselineCpuMs)}`,
      line.target,
      formatVerdict(result),
    ];
    lines.push(`| ${cells.join(' | ')} |`);
  }
  return lines.join('\n');
}

/** Returns the results for the file of `--json`; missing numbers are `null`. */
export function temporalJson(results: readonly Result[]): object[] {
  return results.map(({ line, heddle, baseline, ...figures }) => ({
    row: line.name,
    unit: line.unit,
    ours: heddle ?? null,
    baseline: baseline ?? null,
    note: figures.note ?? null,
    ratio: figures.ratio ?? null,
    ratioOfLeast: figures.ratioOfLeast ?? null,
    oursCpuMs: figures.heddleCpuMs ?? null,
    baselineCpuMs: figures.baselineCpuMs ?? null,
    target: line.target,
    met: figures.isTargetMet ?? null,
    missing: figures.missingReason ?? null,
  }));
}
