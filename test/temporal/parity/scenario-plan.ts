import type { BlockConfig, Json, JsonObject } from '@heddle/core/blocks';
import type { Plan } from '@heddle/core';
import type { Node, Region, Subflow } from '../../../packages/core/src/machine/index.ts';
import { MACHINE_VERSION } from '../../../packages/core/src/machine/skeleton.ts';
import { contentHash } from '../../../packages/core/src/plan/content-hash.ts';
import type { ContainerConfig } from '../../../packages/core/src/plan/plan.ts';
import { PLAN_FORMAT } from '../../../packages/core/src/plan/plan.ts';
import type { Scenario } from '../../model/arbitraries.ts';
import { loop, workflow, block } from '../../support/workflow.ts';
import { compilePlan } from '../../support/compile-plan.ts';
import { randomFor } from './effects.ts';

/** The workflows that blocks of scenarios call: one completes, one fails. */
export const CHILD_WORKFLOWS: readonly Json[] = [true, false].map((works) =>
  workflow([block('C', 'parity-calc', { works })], ['Start -> C'], {
    id: works ? 'parity-good' : 'parity-bad',
    name: works ? 'Good' : 'Bad',
  }),
);

/** Timeout in milliseconds of blocks that never return. */
const HANG_TIMEOUT_MS = 20;
/** The grace period is zero or longer than any run, so that results never depend on durations. */
const LONG_GRACE_MS = 600_000;

/** Returns the plan of a scenario, with blocks whose results depend on the seed of the scenario. */
export function planOf({ region, start, seed, graceMs }: Scenario): Plan {
  const blocks: Plan['blocks'] = {};
  const skeleton = regionOf(region, { seed, blocks, containers: [] });
  for (const [index, node] of skeleton.nodes.entries())
    if (!skeleton.nodes.some(({ ins }) => ins.some(({ from, port }) => from === index && port !== 'error')))
      node.terminal = true;
  const body: Omit<Plan, 'hash'> = {
    format: PLAN_FORMAT,
    machine: MACHINE_VERSION,
    workflow: { id: 'parity', name: 'Parity' },
    compat: false,
    start: skeleton.nodes[start]?.id ?? '',
    skeleton,
    blocks,
    variables: [],
    limits: {
      maxLoopTurns: 1000,
      maxParallelBranches: 1000,
      graceMs: graceMs === 0 ? 0 : LONG_GRACE_MS,
      deadline: 'total',
    },
  };
  return { ...body, hash: contentHash(body as unknown as Json) };
}

interface PlanContext {
  seed: number;
  blocks: Plan['blocks'];
  containers: readonly string[];
}

function regionOf({ nodes, entries }: Region, context: PlanContext): Region {
  const ids = nodes.map((_, index) => [...context.containers.slice(-1), `n${index}`].join('_'));
  return { entries, nodes: nodes.map((node, index) => nodeOf(node, { ...context, ids, index })) };
}

function nodeOf(node: Node, context: PlanContext & { ids: string[]; index: number }): Node {
  const { seed, blocks, containers, ids, index } = context;
  const id = ids[index] as string;
  const { timeoutMs, subflow, ...rest } = node;
  const random = randomFor({ seed, block: id, scope: [], attempt: 0 });
  const config: BlockConfig = {
    id,
    name: id,
    type: node.kind,
    trigger: false,
    containers: [...containers],
    params: {},
    sources: node.ins.map(({ from }) => ids[from] as string),
  };
  blocks[id] = config;
  if (subflow) {
    config.container = containerOf(node.kind, subflow, id, random);
    const body = regionOf(subflow.body, { seed, blocks, containers: [...containers, id] });
    return { ...rest, id, subflow: { ...subflow, body } };
  }
  const isHanging = node.class === 'effect' && timeoutMs !== undefined && random() < 0.2;
  Object.assign(config, typeAndParamsOf(node, isHanging, random));
  config.params['seed'] = { kind: 'literal', value: seed };
  return { ...rest, id, ...(isHanging && { timeoutMs: HANG_TIMEOUT_MS }) };
}

function typeAndParamsOf(
  node: Node,
  isHanging: boolean,
  random: () => number,
): Pick<BlockConfig, 'type' | 'params'> {
  if (node.class === 'child') {
    const value = random() < 0.8 ? 'parity-good' : 'parity-bad';
    return { type: 'workflow_input', params: { workflowId: { kind: 'literal', value } } };
  }
  const type = isHanging ? 'hang' : node.class === 'compute' ? 'calc' : node.class;
  return { type: `parity-${type}`, params: {} };
}

function containerOf(
  kind: Node['kind'],
  { count, perTurn, firstFree }: Subflow,
  id: string,
  random: () => number,
): ContainerConfig {
  const iterationCount = Math.floor(random() * 4.5);
  if (perTurn)
    return {
      kind: firstFree ? 'doWhile' : 'while',
      condition: conditionOf(id, iterationCount),
    } as ContainerConfig;
  if (count !== undefined)
    return { kind: kind === 'loop' ? 'for' : 'parallelCount', count: { static: count } };
  const items = Array.from({ length: iterationCount }, (_, index): JsonObject => ({ index }));
  return {
    kind: kind === 'loop' ? 'forEach' : 'parallelCollection',
    collection:
      random() < 0.1
        ? { invalid: 'The collection is invalid on purpose.' }
        : { template: { kind: 'literal', value: items } },
  };
}

/** Returns a condition of the loop `id` that is true for the first `iterations` iterations. */
function conditionOf(id: string, iterations: number): unknown {
  const data = { loopType: 'while', whileCondition: `<loop.index> < ${iterations}` };
  const { blocks } = compilePlan([loop(id, data, block('Inner', 'work'))], [`Start -> ${id} -> Inner`]);
  return (blocks[id]?.container as { condition?: unknown } | undefined)?.condition;
}
