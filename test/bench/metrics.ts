/** The medians of a row and their ratios. */
export interface Metrics {
  heddle: number | undefined;
  baseline: number | undefined;
  peers: ReadonlyMap<string, number>;
  bestPeer: string | undefined;
  ratioToBestPeer: number | undefined;
  ratioToBaseline: number | undefined;
}

/**
 * Returns the metrics of a row. `medians` maps names of contenders to their medians; all contenders except `heddle` and
 * `baseline` are peers. A ratio below 1 means that Heddle is better, even if the medians are rates.
 */
export function metricsOf(medians: ReadonlyMap<string, number>, isRate = false): Metrics {
  const peers = new Map([...medians].filter(([name]) => name !== 'heddle' && name !== 'baseline'));
  const [bestEntry] = [...peers].toSorted(([, a], [, b]) => (isRate ? b - a : a - b));
  const heddle = medians.get('heddle');
  const baseline = medians.get('baseline');
  return {
    heddle,
    baseline,
    peers,
    bestPeer: bestEntry?.[0],
    ratioToBestPeer: costRatio(heddle, bestEntry?.[1], isRate),
    ratioToBaseline: costRatio(heddle, baseline, isRate),
  };
}

/** Returns the cost of `a` as a multiple of the cost of `b`. */
function costRatio(a: number | undefined, b: number | undefined, isRate: boolean): number | undefined {
  if (a === undefined || b === undefined) return undefined;
  return isRate ? b / a : a / b;
}
