import { useEffect, useRef } from 'react';
import uPlot from 'uplot';
import 'uplot/dist/uPlot.min.css';
import type { LogStats } from '../api/queries.ts';

type Segments = LogStats['aggregateSegments'];

const HEIGHT_PX = 200;

/** Runs and failed runs over time. The page also shows their totals as text. */
export function RunsChart({ segments }: { segments: Segments }) {
  const chartRef = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const parent = chartRef.current;
    if (!parent) return undefined;
    const chart = new uPlot(optionsOf(parent), chartDataOf(segments), parent);
    const observer = new ResizeObserver(() => chart.setSize(sizeOf(parent)));
    observer.observe(parent);
    return () => {
      observer.disconnect();
      chart.destroy();
    };
  }, [segments]);
  return <div ref={chartRef} className="chart" role="img" aria-label="Runs and failed runs over time" />;
}

function sizeOf(parent: HTMLElement) {
  const { paddingLeft, paddingRight } = getComputedStyle(parent);
  return {
    width: parent.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight),
    height: HEIGHT_PX,
  };
}

function chartDataOf(segments: Segments): uPlot.AlignedData {
  return [
    segments.map(({ timestamp }) => Date.parse(timestamp) / 1000),
    segments.map(({ totalExecutions }) => totalExecutions),
    segments.map(({ totalExecutions, successfulExecutions }) => totalExecutions - successfulExecutions),
  ];
}

function optionsOf(parent: HTMLElement): uPlot.Options {
  const style = getComputedStyle(parent);
  const colourOf = (name: string): string => resolveColour(parent, style.getPropertyValue(name));
  const axis = {
    stroke: colourOf('--muted'),
    grid: { stroke: colourOf('--line') },
    ticks: { stroke: colourOf('--line') },
  };
  const bars = uPlot.paths.bars?.({ size: [0.7, 40] });
  const barStyle = { points: { show: false }, ...(bars && { paths: bars }) };
  return {
    ...sizeOf(parent),
    scales: { y: { range: (_chart, _low, high) => [0, Math.max(high, 1)] } },
    axes: [axis, axis],
    series: [
      {},
      { label: 'Runs', stroke: colourOf('--accent'), fill: colourOf('--accent'), ...barStyle },
      { label: 'Failed', stroke: colourOf('--failed'), fill: colourOf('--failed'), ...barStyle },
    ],
  };
}

/** Returns a colour in the form that a canvas accepts, for the theme of the page. */
function resolveColour(parent: HTMLElement, value: string): string {
  const probe = document.createElement('span');
  probe.style.color = value;
  parent.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
