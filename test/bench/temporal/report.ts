import { formatNumber } from '../report.ts';
import type { MeasuredValue, Result } from './measure-row.ts';

function formatMeasuredValue(measuredValue: MeasuredValue | undefined): string {
  return measuredValue
    ? `${formatNumber(measuredValue.value)} (${formatNumber(measuredValue.least)}–${formatNumber(measuredValue.most)})`
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
      formatMeasuredValue(heddle),
      `${formatMeasuredValue(baseline)}${note === undefined ? '' : ` ${note}`}`,
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
  return results.map(({ line, heddle, baseline, ...metrics }) => ({
    row: line.name,
    unit: line.unit,
    ours: heddle ?? null,
    baseline: baseline ?? null,
    note: metrics.note ?? null,
    ratio: metrics.ratio ?? null,
    ratioOfLeast: metrics.ratioOfLeast ?? null,
    oursCpuMs: metrics.heddleCpuMs ?? null,
    baselineCpuMs: metrics.baselineCpuMs ?? null,
    target: line.target,
    met: metrics.isTargetMet ?? null,
    missing: metrics.missingReason ?? null,
  }));
}
