import { describe, expect, it } from 'vitest';
import { advance, initialState } from '../../packages/core/src/machine/index.ts';
import type { Event, Node, Region, State } from '../../packages/core/src/machine/index.ts';
import { loop, region } from '../support/graph.ts';

/** Returns `cells`, and counts each read and write. */
function counted(state: State): { touched: number } {
  const count = { touched: 0 };
  state.frame.cells = new Proxy(state.frame.cells, {
    get: (cells, key, receiver) => {
      if (typeof key === 'string' && /^\d+$/.test(key)) count.touched++;
      return Reflect.get(cells, key, receiver);
    },
    set: (cells, key, value) => {
      if (/^\d+$/.test(String(key))) count.touched++;
      return Reflect.set(cells, key, value);
    },
  });
  return count;
}

/** Returns `nodes`, and counts each read. */
function countedNodes(graph: Region, count: { touched: number }): Region {
  const nodes = new Proxy(graph.nodes, {
    get: (target, key, receiver) => {
      if (typeof key === 'string' && /^\d+$/.test(key)) count.touched++;
      return Reflect.get(target, key, receiver);
    },
  });
  return { ...graph, nodes };
}

const started: Event = { type: 'started', atMs: 0, start: 0, graceMs: 0 };

function begin(graph: Region): State {
  const state = initialState();
  advance(graph, state, started);
  return state;
}

function done(at: number[], port?: string): Event {
  return { type: 'completed', at, atMs: 0, attempt: 1, ...(port && { port }) };
}

const bare: Omit<Node, 'id' | 'ins' | 'outs'> = { kind: 'block', class: 'compute', handlesError: false };

/** Returns the chain n0 -yes-> n1 -> n2 … */
function chain(length: number): Region {
  return {
    nodes: Array.from({ length }, (_, i): Node => ({
      ...bare,
      id: `n${i}`,
      ins: i === 0 ? [] : [{ from: i - 1, port: i === 1 ? 'yes' : 'source' }],
      outs: i + 1 < length ? [i + 1] : [],
    })),
    entries: [0],
  };
}

/** Returns one block, `width` blocks after it, and a join of them all. */
function fan(width: number): Region {
  const all = Array.from({ length: width }, (_, i) => i + 1);
  return {
    nodes: [
      { ...bare, id: 's', ins: [], outs: all },
      ...all.map((i): Node => ({
        ...bare,
        id: `n${i}`,
        ins: [{ from: 0, port: 'source' }],
        outs: [width + 1],
      })),
      { ...bare, id: 'j', ins: all.map((from) => ({ from, port: 'source' })), outs: [] },
    ],
    entries: [0],
  };
}

/** Returns the operations at one, two and three times a size. */
function expectLinear(work: readonly number[], perUnit: number, unit: number): void {
  const [a = 0, b = 0, c = 0] = work;
  expect(c - b).toBe(b - a);
  expect(b - a).toBeLessThanOrEqual(perUnit * unit);
  expect(b - a).toBeGreaterThan(0);
}

describe('a large graph', () => {
  it('R5 skips a chain of 10,000 nodes in one event, and visits each edge once', () => {
    const work = [10_000, 20_000, 30_000].map((length) => {
      const state = begin(chain(length));
      const count = counted(state);
      const { commands } = advance(chain(length), state, done([0], 'no'));
      expect(commands).toEqual([{ type: 'end', status: 'completed' }]);
      return count.touched;
    });
    expectLinear(work, 6, 10_000);
  });

  it('R3 fans out to 10,000 blocks and joins them, and visits each edge once', () => {
    const work = [5000, 10_000, 15_000].map((width) => {
      const graph = fan(width);
      const state = begin(graph);
      const count = counted(state);
      advance(graph, state, done([0]));
      for (let i = 1; i < width; i++) expect(advance(graph, state, done([i])).commands).toEqual([]);
      expect(advance(graph, state, done([width])).commands).toEqual([
        { type: 'run', at: [width + 1], try: 1 },
      ]);
      return count.touched;
    });
    expectLinear(work, 12, 5000);
  });

  it('R8 visits each node of an iteration as often as those of the first iteration', () => {
    const work = [10, 20, 30].map((turns) => {
      const count = { touched: 0 };
      const body = countedNodes(region({ I: loop(region('x'), { count: 0 }) }), count);
      const middle = countedNodes(region({ M: loop(body, { count: 200 }) }), count);
      const graph = region('L -> end', { L: loop(middle, { count: turns }) });
      const { notices } = advance(graph, initialState(), started);
      expect(notices.length).toBeGreaterThan(turns * 200);
      return count.touched;
    });
    expectLinear(work, 20, 10 * 200);
  });

  it('R8 runs 100,000 iterations without commands in one event', () => {
    const body = region({ I: loop(region('x'), { count: 0 }) });
    const graph = region('L -> end', { L: loop(region({ M: loop(body, { count: 500 }) }), { count: 200 }) });
    expect(advance(graph, initialState(), started).commands).toEqual([{ type: 'run', at: [1], try: 1 }]);
  });

  it('R7 closes 100,000 empty frames in one event', () => {
    const graph = region('L -> end', { L: loop(region(), { count: 100_000 }) });
    expect(advance(graph, initialState(), started).commands).toEqual([{ type: 'run', at: [1], try: 1 }]);
  });
});
