import { describe, expect, it } from 'vitest';
import { code, condition, start, workflowFile } from '../../../../test/support/workflow-file.ts';
import type { WorkflowSettings } from '../../../../test/support/workflow-file.ts';
import type { Node, Region } from '../machine/skeleton.ts';
import { parseWorkflow } from '../schema/parse.ts';
import { compile } from './compile.ts';
import type { CompileOptions } from './compile.ts';
import type { Plan } from './plan.ts';

function planOf(file: WorkflowSettings, options?: CompileOptions): Plan {
  const { workflow } = parseWorkflow(workflowFile(file));
  const result = compile(workflow!, options);
  if (!result.ok) throw new Error(JSON.stringify(result.diagnostics));
  return result.plan;
}

/** Returns the nodes in order, each with its in-edges: `b < a, a:error`. */
function formatNodes(region: Region): string[] {
  return region.nodes.map((node) => {
    const inEdges = node.ins.map(({ from, port }) => {
      const { id } = region.nodes[from] as Node;
      return port === 'source' ? id : `${id}:${port}`;
    });
    return inEdges.length === 0 ? node.id : `${node.id} < ${inEdges.join(', ')}`;
  });
}

const nodeOf = (plan: Plan, id: string): Node => {
  const find = (region: Region): Node | undefined => {
    for (const node of region.nodes) {
      const found = node.id === id ? node : node.subflow && find(node.subflow.body);
      if (found) return found;
    }
    return undefined;
  };
  return find(plan.skeleton)!;
};
const bodyOf = (plan: Plan, id: string): Region => nodeOf(plan, id).subflow!.body;
const s = start();
const loop = { type: 'loop', data: { count: 2 } };

describe('the top-level region', () => {
  it('is in topological order with ties by id, independent of the order of the file', () => {
    const blocks = { z: code('1'), m: code('1'), s, b: code('1'), a: code('1') };
    const plan = planOf({ blocks, edges: ['s > z', 's > m', 'z > a', 'm > b'] });
    expect(formatNodes(plan.skeleton)).toEqual(['s', 'm < s', 'b < m', 'z < s', 'a < z']);
  });

  it('starts successors in the order of the edges', () => {
    const blocks = { s, a: code('1'), b: code('1') };
    const successorIds = (...edges: string[]): string[] => {
      const { skeleton } = planOf({ blocks, edges });
      return skeleton.nodes[0]!.outs.map((to) => skeleton.nodes[to]!.id);
    };
    expect(successorIds('s > a', 's > b')).toEqual(['a', 'b']);
    expect(successorIds('s > b', 's > a', 's > b')).toEqual(['b', 'a']);
  });

  it('keeps one edge per port between the same blocks', () => {
    const blocks = { s, a: code('1'), b: code('1') };
    const plan = planOf({ blocks, edges: ['s > a', 'a > b', 'a:error > b', 'a:source-left > b'] });
    expect(formatNodes(plan.skeleton)).toEqual(['s', 'a < s', 'b < a, a:error']);
    expect(nodeOf(plan, 'a')).toMatchObject({ outs: [2], handlesError: true });
  });

  it('contains unreachable blocks, but neither notes nor disabled blocks', () => {
    const blocks = {
      ...{
        s,
        a: code('1'),
        off: { enabled: false },
        after: code('1'),
        alone: code('1'),
        n: { type: 'note' },
      },
      ...{ L: { ...loop, enabled: false }, in: { parentId: 'L' } },
    };
    const plan = planOf({
      blocks,
      edges: ['s > a', 's > off', 'off > after', 'a > after', 'n > a', 's > L', 'L > in'],
    });
    expect(formatNodes(plan.skeleton)).toEqual(['alone', 's', 'a < s', 'after < a']);
    expect(Object.keys(plan.blocks).toSorted()).toEqual(['a', 'after', 'alone', 's']);
  });

  it('marks the blocks whose output may be the run’s output: those without out-edges except error edges', () => {
    const blocks = { s, a: code('1'), h: code('1'), b: code('1'), L: loop, x: { parentId: 'L' } };
    const plan = planOf({
      blocks,
      edges: ['s > a', 'a:error > h', 's > b', 'b > L', 'L:error > h', 'L > x'],
    });
    const terminalIds = plan.skeleton.nodes.filter((node) => node.terminal).map(({ id }) => id);
    expect(terminalIds.toSorted()).toEqual(['L', 'a', 'h']);
    expect(bodyOf(plan, 'L').nodes[0]).not.toHaveProperty('terminal');
  });

  it('marks Response blocks, and contains retry policies and timeouts', () => {
    const blocks = {
      ...{ s, r: { type: 'response' } },
      a: { ...code('1'), retry: { enabled: true, maxTries: 4, waitBetweenTriesMs: 0 }, timeoutMs: 2500.5 },
    };
    const plan = planOf({ blocks, edges: ['s > a', 'a > r'] });
    expect(nodeOf(plan, 'r')).toMatchObject({ answers: true });
    expect(nodeOf(plan, 'a')).toMatchObject({
      timeoutMs: 2500,
      retry: { maxTries: 4, waitMs: 0, backoff: 1, maxWaitMs: 0, jitter: 0 },
    });
  });

  it('classifies blocks by type, registered executors first, unknown types as effects', () => {
    const types = ['function', 'agent', 'wait', 'human_in_the_loop', 'workflow_input', 'odd', 'mine', 'api'];
    const blocks = { s, ...Object.fromEntries(types.map((type) => [type, { type }])) };
    const { skeleton } = planOf(
      { blocks },
      {
        blockTypes: [
          { type: 'mine', class: 'compute' },
          { type: 'api', class: 'child' },
        ],
      },
    );
    expect(Object.fromEntries(skeleton.nodes.map((node) => [node.id, node.class]))).toEqual({
      ...{ s: 'compute', function: 'compute', agent: 'effect', wait: 'wait', human_in_the_loop: 'pause' },
      ...{ workflow_input: 'child', odd: 'effect', mine: 'compute', api: 'child' },
    });
  });

  it('classifies a pause with notification tools as an effect', () => {
    const values = [[], '', null, [{ type: 'slack' }], '[{"type": "slack"}]'];
    const blocks = {
      s,
      ...Object.fromEntries(
        values.map((notification, index) => [
          `h${index}`,
          { type: 'human_in_the_loop', fields: { notification } },
        ]),
      ),
    };
    const { skeleton } = planOf({ blocks });
    const classes = skeleton.nodes.filter(({ id }) => id !== 's').map((node) => node.class);
    expect(classes).toEqual(['pause', 'pause', 'pause', 'effect', 'effect']);
  });
});

describe('ports', () => {
  const conditionBlock = condition('c', 'true', 'false', '');
  const targets = { a: code('1'), b: code('1'), d: code('1') };
  it.each([
    [
      'by name',
      ['c:condition-c-0 > a', 'c:condition-c-2 > b'],
      ['a < c:condition-c-0', 'b < c:condition-c-2'],
    ],
    ['by position if it has no name', ['c > a', 'c > b'], ['a < c:condition-c-0', 'b < c:condition-c-1']],
    ['with a plain source edge', ['c:source > a', 'c:condition-c-1 > b'], ['a < c', 'b < c:condition-c-1']],
    ['that no longer exist are never taken', ['c:condition-gone > a'], ['a < c:condition-gone']],
    ['for failure', ['c:error > a'], ['a < c:error']],
  ])('of conditions: %s', (_, edges, expected) => {
    const plan = planOf({ blocks: { s, c: conditionBlock, ...targets }, edges: ['s > c', ...edges] });
    expect(formatNodes(plan.skeleton).filter((line) => line.includes('< c'))).toEqual(expected);
  });

  it.each([
    ['router', ['r:x > a', 'r > b', 'r:error > d'], ['a < r:router-a', 'b < r:router-b', 'd < r:error']],
    [
      'router_v2',
      ['r:router-two > a', 'r > b', 'r:router-gone > d'],
      ['a < r:router-two', 'b < r:router-two', 'd < r:router-gone'],
    ],
  ])('of a %s: unnamed ones are assigned by position', (type, edges, expected) => {
    const routes = JSON.stringify([{ id: 'one', title: 'A' }, { id: 'two' }]);
    const blocks = { s, r: { type, fields: { routes } }, ...targets };
    expect(
      formatNodes(planOf({ blocks, edges: ['s > r', ...edges] }).skeleton)
        .slice(2)
        .toSorted(),
    ).toEqual(expected);
  });

  it('of other blocks: unknown ports act as source, ports that an executor declares are kept', () => {
    const blocks = { s, m: { type: 'mine' }, ...targets };
    const edges = ['s > m', 'm:yes > a', 'm:odd > b', 'm:source-right > d'];
    const plan = planOf(
      { blocks, edges },
      { blockTypes: [{ type: 'mine', class: 'effect', ports: ['yes'] }] },
    );
    expect(formatNodes(plan.skeleton).slice(2)).toEqual(['a < m:yes', 'b < m', 'd < m']);
  });
});

describe('bodies', () => {
  const innerBlock = { parentId: 'L' };
  it('start at the nodes without in-edges, in the order of the container edges', () => {
    const blocks = { s, L: loop, a: innerBlock, b: innerBlock, c: innerBlock, d: innerBlock };
    const plan = planOf({
      blocks,
      edges: ['s > L', 'L > c', 'L:loop-start-source > a', 'L > b', 'a > b', 'c > d'],
    });
    const body = bodyOf(plan, 'L');
    expect(formatNodes(body)).toEqual(['a', 'b < a', 'c', 'd < c']);
    expect(body.entries.map((entry) => body.nodes[entry]!.id)).toEqual(['c', 'a']);
  });

  it('contain the blocks that an edge reaches, even an edge from outside, which is ignored', () => {
    const blocks = {
      s,
      p: code('1'),
      L: loop,
      a: innerBlock,
      b: innerBlock,
      lost: innerBlock,
      after: innerBlock,
    };
    const plan = planOf({ blocks, edges: ['s > p', 'p > L', 'L > a', 'p > b', 'lost > after'] });
    const body = bodyOf(plan, 'L');
    expect(formatNodes(body)).toEqual(['a', 'b']);
    expect(body.entries).toEqual([0, 1]);
  });

  it('omit edges out of the container and back to it', () => {
    const blocks = { s, L: loop, a: innerBlock, z: code('1') };
    const plan = planOf({ blocks, edges: ['s > L', 'L > a', 'a > L', 'a > z', 'L:loop-end-source > z'] });
    expect(formatNodes(plan.skeleton)).toEqual(['s', 'L < s', 'z < L']);
    expect(bodyOf(plan, 'L').nodes[0]).toMatchObject({ id: 'a', outs: [] });
  });

  it('nest to any depth; the containers of an inner block are listed outermost first', () => {
    const parallel = { type: 'parallel', data: { count: 2 } };
    const blocks = {
      s,
      L: loop,
      P: { ...parallel, parentId: 'L' },
      M: { ...loop, parentId: 'P' },
      a: { parentId: 'M' },
    };
    const plan = planOf({ blocks, edges: ['s > L', 'L > P', 'P:parallel-start-source > M', 'M > a'] });
    expect(plan.blocks['a']?.containers).toEqual(['L', 'P', 'M']);
    expect(bodyOf(plan, 'M').nodes.map(({ id }) => id)).toEqual(['a']);
    expect(nodeOf(plan, 'P')).toMatchObject({
      kind: 'parallel',
      class: 'inline',
      subflow: { window: 20, count: 2 },
    });
  });

  it('come from the stored map if no block names the container; a block listed in two containers is in the inner one', () => {
    const blocks = { s, L: loop, M: { ...loop }, a: {}, b: {} };
    const loops = { L: { id: 'L', nodes: ['M', 'a', 'b'] }, M: { id: 'M', nodes: ['a'] } };
    const plan = planOf({ blocks, edges: ['s > L', 'L > M', 'L > b', 'M > a'], state: { loops } });
    expect(formatNodes(bodyOf(plan, 'L'))).toEqual(['M', 'b']);
    expect(formatNodes(bodyOf(plan, 'M'))).toEqual(['a']);
  });
});
