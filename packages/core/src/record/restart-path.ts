import { EngineError } from '../errors.ts';
import type { Transition } from '../machine/command.ts';
import type { Node, Region } from '../machine/skeleton.ts';
import { indexPlan } from '../plan/index-plan.ts';
import type { PlanIndex } from '../plan/index-plan.ts';
import type { BlockConfig, Plan } from '../plan/plan.ts';
import type { Entry, Place, StartedFrame } from './entry.ts';
import type { SourceRun } from './source-run.ts';

/** The block inside containers at which a run starts. */
export interface RestartPoint {
  plan: Plan;
  block: BlockConfig;
  /** Numbers of the iterations or branches around the block, outermost first. */
  iterations: readonly number[];
}

/** A container around the start, with its iterations or branches in the earlier run. */
export interface PathFrame {
  container: Node;
  iteration: number;
  /** Index in the body of the node that contains the start, or is the start. */
  nodeIndex: number;
  /** Ids of the nodes of the body that run again: the node at `nodeIndex`, and the nodes downstream of it. */
  rerunIds: ReadonlySet<string>;
  /** Numbers of the iterations or branches that the earlier run has opened, and has closed. */
  opened: Set<number>;
  closed: Set<number>;
  /** Number of iterations or branches; undefined while unknown. */
  count: number | undefined;
}

/**
 * The containers around the start of a run. Decides which entries of an earlier run are kept, outside and inside these
 * containers.
 */
export class RestartPath {
  readonly frames: PathFrame[];
  /** The index of the earlier run's plan. */
  readonly index: PlanIndex;
  readonly #rerunIds: ReadonlySet<string>;
  readonly #point: RestartPoint;

  /**
   * Throws OPTIONS_INVALID for a wrong number of iterations, BLOCK_NOT_RESTARTABLE for containers that the earlier run
   * lacks.
   */
  constructor(point: RestartPoint, source: Pick<SourceRun, 'runId' | 'plan'>) {
    const { plan, block, iterations } = point;
    const indexedNode = indexPlan(plan).byId(block.id);
    if (!indexedNode) throw notRestartableError(block.name, 'it is disabled.');
    const { containers, path } = indexedNode;
    if (iterations.length !== containers.length) throw wrongIterationCountError(block, containers.length);
    this.#point = point;
    this.index = indexPlan(source.plan);
    this.#rerunIds = downstreamIds(plan.skeleton, path[0] ?? 0);
    this.frames = containers.map((container, depth) => {
      this.#requireSameContainer(container, containers.slice(0, depth), source.runId);
      const body = container.subflow?.body as Region;
      const nodeIndex = path[depth + 1] ?? 0;
      return {
        ...{
          container,
          iteration: iterations[depth] ?? 0,
          nodeIndex,
          rerunIds: downstreamIds(body, nodeIndex),
        },
        ...{ opened: new Set(), closed: new Set() },
        count: this.index.byId(container.id)?.node.subflow?.count,
      };
    });
  }

  #requireSameContainer({ id, kind }: Node, outerContainers: readonly Node[], runId: string): void {
    const earlierNode = this.index.byId(id);
    const isSame =
      earlierNode?.node.kind === kind &&
      earlierNode.containerIds.join('\n') ===
        outerContainers.map((outerContainer) => outerContainer.id).join('\n');
    if (!isSame)
      throw this.#notRestartableError(`run ${runId} does not have the container "${this.nameOf(id)}" there.`);
  }

  nameOf(id: string): string {
    return this.#point.plan.blocks[id]?.name ?? id;
  }

  #notRestartableError(reason: string): EngineError {
    return notRestartableError(this.#point.block.name, reason);
  }

  /** Returns the depth of the container at a place if the start is inside this execution of it; else -1. */
  depthOf({ block, scope }: Place): number {
    const depth = scope.length;
    const frame = this.frames[depth];
    return frame?.container.id === block && this.#containsStart(scope) ? depth : -1;
  }

  /** Returns true if the start is in the iterations and branches with the numbers `scope`. */
  #containsStart(scope: readonly number[]): boolean {
    return scope.every((number, depth) => this.frames[depth]?.iteration === number);
  }

  /** Returns the depth of the frame that directly contains a place, if it also contains the start; else -1. */
  frameDepthOf({ block, scope }: Place): number {
    const depth = scope.length - 1;
    const container = this.index.byId(block)?.containerIds.at(-1);
    const isSameContainer = container !== undefined && this.frames[depth]?.container.id === container;
    return isSameContainer && this.#containsStart(scope) ? depth : -1;
  }

  /** Records what an entry of the earlier run changes in the containers around the start. */
  observe(entry: Entry, transitions: readonly Transition[]): void {
    if (entry.type === 'started' && entry.reused?.inside)
      this.#observeRestoredFrames(entry.start, entry.reused.inside.frames);
    if (entry.type === 'expanded') {
      const frame = this.frames[this.depthOf(entry)];
      if (frame && !frame.container.subflow?.perTurn) frame.count = entry.count;
    }
    for (const transition of transitions) {
      if (transition.type !== 'opened' && transition.type !== 'closed') continue;
      this.frames[this.depthOf(this.index.placeOf(transition.at))]?.[transition.type].add(
        transition.iteration,
      );
    }
  }

  /**
   * Records what the earlier run itself reused from another run, if it also started inside these containers. Throws
   * BLOCK_NOT_RESTARTABLE.
   */
  #observeRestoredFrames(start: string, restoredFrames: readonly StartedFrame[]): void {
    const { containerIds = [], path = [] } = this.index.byId(start) ?? {};
    for (const [depth, restoredFrame] of restoredFrames.entries()) {
      const frame = this.frames[depth];
      if (!frame || frame.container.id !== containerIds[depth]) return;
      addRestoredFrame(frame, restoredFrame);
      if (frame.closed.has(frame.iteration)) throw this.#notRunError();
      if (frame.iteration !== restoredFrame.iteration) return;
      if (!this.#hasRun(frame, path[depth + 1] ?? 0)) throw this.#notRunError();
    }
  }

  /**
   * Returns true if the node that leads to the start ran in the earlier run: it is `start`, the node at which that run
   * started in the frame, or downstream of `start`.
   */
  #hasRun({ container, nodeIndex }: PathFrame, start: number): boolean {
    const { body } = this.index.byId(container.id)?.node.subflow ?? {};
    const id = container.subflow?.body.nodes[nodeIndex]?.id ?? '';
    return body !== undefined && downstreamIds(body, start).has(id);
  }

  #notRunError(): EngineError {
    return this.#notRestartableError(
      'the earlier run did not execute it, but reused its result. Start from the run that executed it.',
    );
  }

  /** Returns true for an execution of a block whose result the new run reuses. */
  isKept({ block, scope }: Place): boolean {
    const containerIds = this.index.byId(block)?.containerIds ?? [];
    let rerunIds = this.#rerunIds;
    for (const [depth, frame] of this.frames.entries()) {
      const node = containerIds[depth] ?? block;
      if (node !== frame.container.id) return !rerunIds.has(node);
      const number = scope[depth];
      if (number === undefined) return false;
      if (number !== frame.iteration) return isDone(frame, number);
      rerunIds = frame.rerunIds;
    }
    return !rerunIds.has(containerIds[this.frames.length] ?? block);
  }

  /** Returns true for an opened or closed iteration or branch that the new run reuses. */
  isKeptTransition(transition: Transition, place: Place): boolean {
    const frame = this.frames[this.depthOf(place)];
    if (!frame) return this.isKept(place);
    if (transition.type === 'entered') return true;
    if (transition.type !== 'opened' && transition.type !== 'closed') return false;
    if (transition.iteration === frame.iteration) return transition.type === 'opened';
    return isDone(frame, transition.iteration);
  }

  /**
   * Returns the frames in which the new run starts. Throws BLOCK_NOT_RESTARTABLE if the earlier run has not opened one
   * of them, or if the container has fewer iterations or branches in the new plan.
   */
  startedFrames(runId: string): StartedFrame[] {
    return this.frames.map((frame) => {
      const { container, iteration, opened } = frame;
      const { subflow, kind } = container;
      const frameName = `${kind === 'loop' ? 'iteration' : 'branch'} ${iteration} of "${this.nameOf(container.id)}"`;
      if (!opened.has(iteration)) throw this.#notRestartableError(`${frameName} did not run in ${runId}.`);
      const count = subflow?.perTurn ? -1 : (subflow?.count ?? frame.count);
      if (count === undefined || (count >= 0 && iteration >= count))
        throw this.#notRestartableError(`${frameName} does not exist in the workflow that would run.`);
      if (kind === 'loop') return { iteration, count, next: iteration + 1 };
      const numbers = [...opened].filter((number) => number < count);
      const next = numbers.reduce((maximum, number) => Math.max(maximum, number + 1), 0);
      const missing = numbers
        .filter((number) => number !== iteration && !frame.closed.has(number))
        .toSorted((a, b) => a - b);
      return { iteration, count, next, ...(missing.length > 0 && { missing }) };
    });
  }

  /**
   * Throws BLOCK_NOT_RESTARTABLE unless all source blocks of the start, and of the containers around it, have run in
   * their frames.
   */
  requireSources(endedBlocks: readonly ReadonlySet<string>[], runId: string): void {
    for (const [depth, { container, nodeIndex }] of this.frames.entries()) {
      const nodes = container.subflow?.body.nodes ?? [];
      const { ins = [] } = nodes[nodeIndex] ?? {};
      const missingSource = ins.find(({ from }) => !endedBlocks[depth]?.has(nodes[from]?.id ?? ''));
      if (!missingSource) continue;
      const name = this.nameOf(nodes[missingSource.from]?.id ?? '');
      throw this.#notRestartableError(
        `the block "${name}", which leads to it, did not run there in ${runId}. Start at that block, or at an earlier one.`,
      );
    }
  }
}

/** Records the iterations or branches that the earlier run reused and did not open. */
function addRestoredFrame(frame: PathFrame, { iteration, next, missing, count }: StartedFrame): void {
  const missingNumbers = new Set(missing);
  for (let number = 0; number < next; number += 1) {
    if (missingNumbers.has(number)) continue;
    frame.opened.add(number);
    if (number !== iteration) frame.closed.add(number);
  }
  if (count >= 0) frame.count = count;
}

/** Returns true for an iteration before the start, and for another branch that has closed. */
function isDone({ container, iteration, closed }: PathFrame, number: number): boolean {
  return container.kind === 'loop' ? number < iteration : number !== iteration && closed.has(number);
}

/** Returns the ids of the node at `index` and of the nodes downstream of it. */
function downstreamIds({ nodes }: Region, index: number): ReadonlySet<string> {
  const reachedIndexes = new Set([index]);
  for (const nodeIndex of reachedIndexes)
    for (const targetIndex of nodes[nodeIndex]?.outs ?? []) reachedIndexes.add(targetIndex);
  return new Set([...reachedIndexes].flatMap((nodeIndex) => nodes[nodeIndex]?.id ?? []));
}

function wrongIterationCountError({ name }: BlockConfig, expected: number): EngineError {
  const message =
    expected === 0
      ? `"${name}" is not in a loop or parallel: give no iteration numbers.`
      : `"${name}" is in ${expected} ${expected === 1 ? 'loop or parallel' : 'loops or parallels'}: give ${expected} ${expected === 1 ? 'number' : 'numbers'} of iterations or branches, outermost first.`;
  return new EngineError('OPTIONS_INVALID', message);
}

/** Returns the error for a block at which a run cannot start. `reason`: a sentence. */
export function notRestartableError(name: string, reason: string): EngineError {
  return new EngineError('BLOCK_NOT_RESTARTABLE', `A run cannot start at "${name}": ${reason}`, {
    details: { block: name },
  });
}
