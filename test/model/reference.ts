import type { Node, Region, Subflow } from '../../packages/core/src/machine/index.ts';
import { DRAINED, DrainScope } from './drain-scope.ts';
import type { Answer, Environment } from './drain-scope.ts';

/** How a run ends. */
export interface Ending {
  status: 'completed' | 'failed';
  at?: readonly number[];
}

/**
 * Returns how a run of `region` from `start` ends. This function is the executable specification of control flow.
 *
 * A join is `Promise.all`, a loop is a `for`, a window is a number of workers, and a failure drains a scope.
 */
export async function runReference(
  region: Region,
  start: number,
  environment: Environment,
  graceMs: number,
): Promise<Ending> {
  const runScope = new DrainScope(environment, graceMs, []);
  await runInScope(undefined, runScope, () => runRegion(region, runScope, [], start));
  return {
    status: runScope.drainReason === 'failed' ? 'failed' : 'completed',
    ...(runScope.cause && { at: runScope.cause }),
  };
}

async function runRegion(
  region: Region,
  scope: DrainScope,
  base: readonly number[],
  start?: number,
): Promise<void> {
  const reachedNodes = new Set(start === undefined ? region.nodes.keys() : [start]);
  for (const index of reachedNodes) for (const to of region.nodes[index]?.outs ?? []) reachedNodes.add(to);
  const ports = new Map<number, Promise<string | null>>();
  const portOf = (index: number): Promise<string | null> => {
    if (!ports.has(index)) ports.set(index, settle(index));
    return ports.get(index) as Promise<string | null>;
  };
  const settle = async (index: number): Promise<string | null> => {
    if (!reachedNodes.has(index)) return null;
    const node = region.nodes[index] as Node;
    const takenPorts = await Promise.all(node.ins.map(({ from }) => portOf(from)));
    const isLive = node.ins.some(
      ({ port }, i) =>
        takenPorts[i] === port || (port === 'source' && ![null, 'error'].includes(takenPorts[i] ?? null)),
    );
    const isStart = start === undefined ? node.ins.length === 0 : index === start;
    return isLive || isStart ? runNode(node, scope, [...base, index]) : null;
  };
  await waitForAll([...region.nodes.keys()].map(portOf));
}

async function runNode(node: Node, scope: DrainScope, at: readonly number[]): Promise<string> {
  const port = node.subflow
    ? await runContainer(node, node.subflow, scope, at)
    : await runBlock(node, scope, at);
  if (node.answers && port === 'source') scope.root.drain('answered', at);
  return port;
}

/** Runs an attempt to its end. A pause that an answer continues is part of the attempt (R46). */
async function runAttempt(
  node: Node,
  scope: DrainScope,
  at: readonly number[],
  attempt: number,
): Promise<Answer> {
  let answer = await scope.ask({ type: 'run', at, number: attempt }, node.class !== 'child');
  for (let resumes = 0; answer.type === 'paused' && answer.continues; resumes++) {
    await scope.ask({ type: 'open', at, number: attempt, resumes }, false);
    answer = await scope.ask({ type: 'run', at, number: attempt, resumes: resumes + 1 }, true);
  }
  return answer;
}

async function runBlock(node: Node, scope: DrainScope, at: readonly number[]): Promise<string> {
  const { maxTries = 1, waitMs = 0 } = node.retry ?? {};
  for (let attempt = 1; ; attempt++) {
    const answer = await runAttempt(node, scope, at, attempt);
    if (answer.type === 'done') return answer.port ?? 'source';
    if (answer.type === 'paused') {
      await scope.ask({ type: answer.kind, at, number: 0 }, false);
      return 'source';
    }
    if (answer.type === 'permanent' || attempt >= maxTries)
      return node.handlesError ? 'error' : scope.drain('failed', at);
    if (waitMs > 0) await scope.ask({ type: 'retry', at, number: attempt + 1 }, false);
  }
}

async function runContainer(
  node: Node,
  subflow: Subflow,
  outerScope: DrainScope,
  at: readonly number[],
): Promise<string> {
  const scope = node.handlesError ? outerScope.createInnerScope(at) : outerScope;
  const runBranch = (index: number): Promise<boolean> => {
    const innerScope = subflow.collectErrors ? scope.createInnerScope([...at, index]) : scope;
    return runInScope(scope, innerScope, () => runRegion(subflow.body, innerScope, [...at, index]));
  };
  const expand = async (index: number): Promise<number> => {
    const answer = await scope.ask({ type: 'expand', at, number: index }, true);
    return answer.type === 'count' ? answer.count : scope.drain('failed', at);
  };
  const runIterations = async (): Promise<void> => {
    for (let index = 0; (subflow.firstFree && index === 0) || (await expand(index)) > 0; index++) {
      if (index >= subflow.limit) scope.drain('failed', at);
      await runBranch(index);
    }
  };
  const runBranches = async (): Promise<void> => {
    const count = subflow.count ?? (await expand(0));
    if (count > subflow.limit) scope.drain('failed', at);
    const workerCount = Math.min(count, subflow.window ?? (node.kind === 'loop' ? 1 : count));
    let nextIndex = 0;
    const runWorker = async (): Promise<void> => {
      while (nextIndex < count) await runBranch(nextIndex++);
    };
    await waitForAll(Array.from({ length: workerCount }, runWorker));
  };
  return (await runInScope(outerScope, scope, subflow.perTurn ? runIterations : runBranches))
    ? 'source'
    : 'error';
}

/** Runs `body` in `scope`. Returns false if only `scope` was drained, and throws if an outer scope was. */
async function runInScope(
  outerScope: DrainScope | undefined,
  scope: DrainScope,
  body: () => Promise<void>,
): Promise<boolean> {
  try {
    await body();
  } catch (error) {
    if (error !== DRAINED || scope === outerScope || outerScope?.isDrained) throw error;
    return false;
  } finally {
    if (scope !== outerScope) scope.close();
  }
  return true;
}

/** Waits for all promises, so that none continues unobserved. Then throws the first rejection, if there is one. */
async function waitForAll(promises: readonly Promise<unknown>[]): Promise<void> {
  for (const result of await Promise.allSettled(promises))
    if (result.status === 'rejected') throw result.reason as unknown;
}
