/** The medians of a row and their ratios. */
export interface Figures {
  ours: number | undefined;
  floor: number | undefined;
  peers: ReadonlyMap<string, number>;
  bestPeer: string | undefined;
  ratioToBestPeer: number | undefined;
  ratioToFloor: number | undefined;
}

/** Figures of medians by contender; `heddle` and `floor` are no peers. Ratios below 1 mean that Heddle needs less. */
export function figuresOf(medians: ReadonlyMap<string, number>): Figures {
  const peers = new Map([...medians].filter(([name]) => name !== 'heddle' && name !== 'floor'));
  const [best] = [...peers].toSorted(([, a], [, b]) => a - b);
  const ours = medians.get('heddle');
  const floor = medians.get('floor');
  return {
    ours,
    floor,
    peers,
    bestPeer: best?.[0],
    ratioToBestPeer: ours === undefined || best === undefined ? undefined : ours / best[1],
    ratioToFloor: ours === undefined || floor === undefined ? undefined : ours / floor,
  };
}
