import { describe, expect, it } from 'vitest';
import { advance, initialState } from '../../packages/core/src/machine/index.ts';
import type { Event, Node, Region, State } from '../../packages/core/src/machine/index.ts';
import { loop, region } from '../support/graph.ts';

/** Counts the reads and writes of cells of the top frame from now on. */
function countCellAccess(state: State): { accesses: number } {
  const count = { accesses: 0 };
  state.frame.cells = new Proxy(state.frame.cells, {
    get: (cells, key, receiver) => {
      if (typeof key === 'string' && /^\d+$/.test(key)) count.accesses++;
      return Reflect.get(cells, key, receiver);
    },
    set: (cells, key, value) => {
      if (/^\d+$/.test(String(key))) count.accesses++;
      return Reflect.set(cells, key, value);
    },
  });
  return count;
}

/** Returns the graph with nodes whose reads are counted. */
function withCountedNodes(graph: Region, count: { accesses: number }): Region {
  const nodes = new Proxy(graph.nodes, {
    get: (target, key, receiver) => {
      if (typeof key === 'string' && /^\d+$/.test(key)) count.accesses++;
      return Reflect.get(target, key, receiver);
    },
  });
  return { ...graph, nodes };
}

const STARTED_EVENT: Event = { type: 'started', atMs: 0, start: 0, graceMs: 0 };

function startRun(graph: Region): State {
  const state = initialState();
  advance(graph, state, STARTED_EVENT);
  return state;
}

function completedEvent(at: number[], port?: string): Event {
  return { type: 'completed', at, atMs: 0, attempt: 1, ...(port && { port }) };
}

const BLOCK: Omit<Node, 'id' | 'ins' | 'outs'> = { kind: 'block', class: 'compute', handlesError: false };

/** Returns the chain n0 -yes-> n1 -> n2 … */
function createChain(length: number): Region {
  return {
    nodes: Array.from({ length }, (_, i): Node => ({
      ...BLOCK,
      id: `n${i}`,
      ins: i === 0 ? [] : [{ from: i - 1, port: i === 1 ? 'yes' : 'source' }],
      outs: i + 1 < length ? [i + 1] : [],
    })),
    entries: [0],
  };
}

/** Returns one block, `width` blocks after it, and a join of them all. */
function createFanOut(width: number): Region {
  const indexes = Array.from({ length: width }, (_, i) => i + 1);
  return {
    nodes: [
      { ...BLOCK, id: 's', ins: [], outs: indexes },
      ...indexes.map((i): Node => ({
        ...BLOCK,
        id: `n${i}`,
        ins: [{ from: 0, port: 'source' }],
        outs: [width + 1],
      })),
      { ...BLOCK, id: 'j', ins: indexes.map((from) => ({ from, port: 'source' })), outs: [] },
    ],
    entries: [0],
  };
}

/** Expects that accesses at one, two and three times `unit` nodes grow linearly, by at most `maxPerNode` per node. */
function expectLinear(accesses: readonly number[], maxPerNode: number, unit: number): void {
  const [a = 0, b = 0, c = 0] = accesses;
  expect(c - b).toBe(b - a);
  expect(b - a).toBeLessThanOrEqual(maxPerNode * unit);
  expect(b - a).toBeGreaterThan(0);
}

describe('a large graph', () => {
  it('skips a chain of 10,000 nodes in one event, and visits each edge once (R5)', () => {
    const accesses = [10_000, 20_000, 30_000].map((length) => {
      const state = startRun(createChain(length));
      const count = countCellAccess(state);
      const { commands } = advance(createChain(length), state, completedEvent([0], 'no'));
      expect(commands).toEqual([{ type: 'end', status: 'completed' }]);
      return count.accesses;
    });
    expectLinear(accesses, 6, 10_000);
  });

  it('fans out to 10,000 blocks and joins them, and visits each edge once (R3)', () => {
    const accesses = [5000, 10_000, 15_000].map((width) => {
      const graph = createFanOut(width);
      const state = startRun(graph);
      const count = countCellAccess(state);
      advance(graph, state, completedEvent([0]));
      for (let i = 1; i < width; i++) expect(advance(graph, state, completedEvent([i])).commands).toEqual([]);
      expect(advance(graph, state, completedEvent([width])).commands).toEqual([
        { type: 'run', at: [width + 1], try: 1 },
      ]);
      return count.accesses;
    });
    expectLinear(accesses, 12, 5000);
  });

  it('visits the nodes of a later iteration as often as those of the first (R8)', () => {
    const accesses = [10, 20, 30].map((iterations) => {
      const count = { accesses: 0 };
      const body = withCountedNodes(region({ I: loop(region('x'), { count: 0 }) }), count);
      const middleRegion = withCountedNodes(region({ M: loop(body, { count: 200 }) }), count);
      const graph = region('L -> end', { L: loop(middleRegion, { count: iterations }) });
      const { transitions } = advance(graph, initialState(), STARTED_EVENT);
      expect(transitions.length).toBeGreaterThan(iterations * 200);
      return count.accesses;
    });
    expectLinear(accesses, 20, 10 * 200);
  });

  it('runs 100,000 iterations without commands in one event (R8)', () => {
    const body = region({ I: loop(region('x'), { count: 0 }) });
    const graph = region('L -> end', { L: loop(region({ M: loop(body, { count: 500 }) }), { count: 200 }) });
    expect(advance(graph, initialState(), STARTED_EVENT).commands).toEqual([
      { type: 'run', at: [1], try: 1 },
    ]);
  });

  it('closes 100,000 empty frames in one event (R7)', () => {
    const graph = region('L -> end', { L: loop(region(), { count: 100_000 }) });
    expect(advance(graph, initialState(), STARTED_EVENT).commands).toEqual([
      { type: 'run', at: [1], try: 1 },
    ]);
  });
});
