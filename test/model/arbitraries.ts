import fc from 'fast-check';
import type {
  BlockClass,
  Node,
  Region,
  RetryPolicy,
  Subflow,
} from '../../packages/core/src/machine/index.ts';

/**
 * What can happen in a run.
 * - `order-independent`: only blocks with an error port fail, no limit is reached, and no block responds to the caller
 *   of the run. The executed blocks then do not depend on the order of events.
 * - `failing`: also unhandled failures, limits, and blocks that respond to the caller.
 * - `unrestricted`: also containers that fail at their start because their count is above the limit, and run-until.
 */
export type ScenarioKind = 'order-independent' | 'failing' | 'unrestricted';

/**
 * A run to execute: a graph, its start, and the seed of a simulated environment. The response of the environment to a
 * command depends only on the seed and the command.
 */
export interface Scenario {
  region: Region;
  start: number;
  /**
   * The index of the block at which the run stops (run-until). Only with the kind `unrestricted`, because the reference
   * implementation (`runReference`) does not have it.
   */
  until?: number;
  seed: number;
  kind: ScenarioKind;
  graceMs: number;
  /** Seeds the order of events. */
  orderSeed: number;
}

type EdgeTuple = readonly [from: number, to: number, port: string];

type NodeDraft = Omit<Node, 'id' | 'ins' | 'outs' | 'handlesError'>;

const CLASSES: readonly BlockClass[] = ['compute', 'compute', 'effect', 'wait', 'pause', 'child'];

const retry: fc.Arbitrary<RetryPolicy> = fc.record({
  maxTries: fc.integer({ min: 1, max: 3 }),
  waitMs: fc.constantFrom(0, 10),
  backoff: fc.constantFrom(1, 2),
  maxWaitMs: fc.constant(1000),
  jitter: fc.constantFrom(0, 0.5),
});

function block(kind: ScenarioKind): fc.Arbitrary<NodeDraft> {
  const shape = {
    kind: fc.constant('block' as const),
    class: fc.constantFrom(...CLASSES),
    retry,
    timeoutMs: fc.constantFrom(30, 60),
    answers: fc.constant(true),
  };
  return fc.tuple(fc.record(shape, { requiredKeys: ['kind', 'class'] }), fc.nat(99)).map(([draft, roll]) => {
    // Responses end the run, so they are rare.
    const { answers, ...plainDraft } = draft;
    return kind !== 'order-independent' && answers && roll < 10 ? { ...plainDraft, answers } : plainDraft;
  });
}

function container(kind: ScenarioKind, depth: number): fc.Arbitrary<NodeDraft> {
  const limit = kind === 'order-independent' ? fc.constant(1000) : fc.integer({ min: 1, max: 4 });
  const body = regions(kind, depth + 1);
  const count = fc.integer({ min: 0, max: 3 });
  const loop: fc.Arbitrary<Subflow> = fc.oneof(
    fc.record({ body, count, limit: kind === 'unrestricted' ? limit : fc.constant(1000) }),
    fc.record({ body, limit }),
    fc.record({ body, limit, perTurn: fc.constant(true), firstFree: fc.boolean() }),
  );
  const parallel: fc.Arbitrary<Subflow> = fc
    .tuple(
      fc.oneof(
        fc.record({ body, count, limit: kind === 'unrestricted' ? limit : fc.constant(1000) }),
        fc.record({ body, limit }),
      ),
      fc.record(
        { window: fc.integer({ min: 1, max: 3 }), collectErrors: fc.boolean() },
        { requiredKeys: [] },
      ),
    )
    .map(([subflow, options]) => ({ ...subflow, ...options }));
  return fc.oneof(
    loop.map((subflow): NodeDraft => ({ kind: 'loop', class: 'inline', subflow })),
    parallel.map((subflow): NodeDraft => ({ kind: 'parallel', class: 'inline', subflow })),
  );
}

/** Returns regions of blocks and containers, nested up to `depth` 2. Edges lead forward, from any port. */
function regions(kind: ScenarioKind, depth: number, maxNodes = depth === 0 ? 8 : 4): fc.Arbitrary<Region> {
  const blockDraft = block(kind);
  const node =
    depth < 2
      ? fc.oneof({ weight: 2, arbitrary: blockDraft }, { weight: 1, arbitrary: container(kind, depth) })
      : blockDraft;
  const nodeIndex = fc.nat(maxNodes - 1);
  const port = fc.constantFrom('source', 'source', 'source', 'source', 'a', 'b', 'error');
  const predecessorPort = fc.constantFrom(...Array<string>(9).fill('source'), 'a', 'b', 'error');
  return fc
    .record({
      drafts: fc.array(node, { minLength: maxNodes > 4 ? 3 : 0, maxLength: maxNodes, size: 'max' }),
      // Nodes that the start does not reach do not run, so most nodes depend on an earlier node.
      predecessors: fc.array(fc.option(fc.tuple(nodeIndex, predecessorPort), { freq: 9 }), {
        minLength: maxNodes,
        maxLength: maxNodes,
      }),
      edges: fc.array(fc.tuple(nodeIndex, nodeIndex, port), { maxLength: maxNodes, size: 'max' }),
    })
    .map(({ drafts, predecessors, edges }) => {
      const predecessorEdges = predecessors.flatMap((predecessor, to): EdgeTuple[] =>
        predecessor && to > 0 ? [[predecessor[0] % to, to, predecessor[1]]] : [],
      );
      return createRegion(
        drafts,
        maxNodes > 4 ? [...predecessorEdges, ...edges] : [...predecessorEdges.slice(2), ...edges],
      );
    });
}

function createRegion(drafts: readonly NodeDraft[], edgeTuples: readonly EdgeTuple[]): Region {
  const edges = edgeTuples
    .map(([a, b, port]) => ({ from: Math.min(a, b), to: Math.max(a, b), port }))
    .filter(({ from, to }) => from !== to && to < drafts.length)
    .map((edge) => {
      const isContainer = drafts[edge.from]?.subflow !== undefined;
      return isContainer && edge.port !== 'source' ? { ...edge, port: 'error' } : edge;
    });
  const nodes = drafts.map((draft, index): Node => {
    const incomingEdges = new Map(
      edges.filter(({ to }) => to === index).map(({ from, port }) => [`${from} ${port}`, { from, port }]),
    );
    const outgoingEdges = edges.filter(({ from }) => from === index);
    return {
      ...draft,
      id: `n${index}`,
      ins: [...incomingEdges.values()],
      outs: [...new Set(outgoingEdges.map(({ to }) => to))],
      handlesError: outgoingEdges.some(({ port }) => port === 'error'),
    };
  });
  return { nodes, entries: [...nodes.keys()].filter((index) => nodes[index]?.ins.length === 0) };
}

/** Returns runs of random nested regions. */
export function scenarios(kind: ScenarioKind): fc.Arbitrary<Scenario> {
  return fc
    .noBias(
      fc.record({
        region: regions(kind, 0),
        // Most numbers are beyond the last node, which means no run-until.
        until: fc.nat(40),
        start: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(6) }),
        seed: fc.nat(),
        kind: fc.constant(kind),
        graceMs: fc.constantFrom(0, 50, 50),
        orderSeed: fc.nat(),
      }),
    )
    .map(({ until, ...scenario }) => {
      const count = scenario.region.nodes.length;
      const runUntil = kind === 'unrestricted' && until < count ? { until } : {};
      return { ...scenario, start: scenario.start % count, ...runUntil };
    });
}

/** Returns runs of small regions with at most one level of containers. All orders of their events can be explored. */
export function smallScenarios(kind: ScenarioKind): fc.Arbitrary<Scenario> {
  return fc.noBias(
    fc.record({
      region: regions(kind, 1, 5),
      start: fc.constant(0),
      seed: fc.nat(),
      kind: fc.constant(kind),
      graceMs: fc.constantFrom(0, 50),
      orderSeed: fc.constant(0),
    }),
  );
}
