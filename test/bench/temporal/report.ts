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

function verdict({ line, met, missing }: Result): string {
  if (missing !== undefined) return `none: ${missing}`;
  if (line.maxRatio === undefined) return '';
  return met === true ? 'met' : 'missed';
}

/** Returns the results as a Markdown table. */
export function temporalTable(results: readonly Result[]): string {
  const lines = [
    '| row | unit | Heddle (spread) | hand-written (spread) | × hand-written | × of minimum | CPU ms a run, Heddle / hand-written | target | |',
    '|---|---|---|---|---|---|---|---|---|',
  ];
  for (const result of results) {
    const { line, ours, baseline, ratio, ratioOfLeast, oursCpuMs, baselineCpuMs, note } = result;
    const cells = [
      line.name,
      line.unit,
      formatFigure(ours),
      `${formatFigure(baseline)}${note === undefined ? '' : ` ${note}`}`,
      formatRatio(ratio),
      formatRatio(ratioOfLeast),
      `${formatNumber(oursCpuMs)} / ${formatNumber(baselineCpuMs)}`,
      line.target,
      verdict(result),
    ];
    lines.push(`| ${cells.join(' | ')} |`);
  }
  return lines.join('\n');
}

/** Returns the results for the file of `--json`; missing numbers are `null`. */
export function temporalJson(results: readonly Result[]): object[] {
  return results.map(({ line, ours, baseline, ...figures }) => ({
    row: line.name,
    unit: line.unit,
    ours: ours ?? null,
    baseline: baseline ?? null,
    note: figures.note ?? null,
    ratio: figures.ratio ?? null,
    ratioOfLeast: figures.ratioOfLeast ?? null,
    oursCpuMs: figures.oursCpuMs ?? null,
    baselineCpuMs: figures.baselineCpuMs ?? null,
    target: line.target,
    met: figures.met ?? null,
    missing: figures.missing ?? null,
  }));
}
