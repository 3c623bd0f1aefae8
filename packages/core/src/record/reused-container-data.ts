import type { Json } from '../json.ts';
import type { Transition } from '../machine/command.ts';
import type { Node } from '../machine/skeleton.ts';
import { indexPlan } from '../plan/index-plan.ts';
import type { Plan } from '../plan/plan.ts';
import type { Entry, Place, SavedScope, StartedFrame } from './entry.ts';
import { Ledger } from './ledger.ts';
import { RestartPath } from './restart-path.ts';
import type { RestartPoint } from './restart-path.ts';
import { toSavedScope } from './saved-scope.ts';
import { scopeOf } from './scope.ts';
import type { BranchScope } from './scope.ts';
import type { SourceRun } from './source-run.ts';
import type { StoredValue } from './stored-value.ts';

/** The data that a run reuses from an earlier run, in the containers around its start. */
export interface ReusedContainerData {
  frames: StartedFrame[];
  /** Ids of the blocks in these frames whose outputs are reused. */
  blocks: ReadonlySet<string>;
  /** Returns the outputs and containers, with `replacements` instead of the outputs of the earlier run. */
  scopeWith(replacements: { readonly [blockId: string]: StoredValue }): SavedScope;
  /** The variables at the start: the initial ones, with the values that the kept blocks have set. */
  variables: ReadonlyMap<string, Json>;
}

/**
 * Returns the data that a run reuses if it starts inside containers: of earlier iterations, of other branches that have
 * closed, and of blocks of the same iteration that are not downstream. The data comes from the kept entries of the
 * earlier journal.
 *
 * Throws OPTIONS_INVALID for a wrong number of iterations, BLOCK_NOT_RESTARTABLE if the earlier run has no such
 * iteration or not all source blocks have run in it. Takes O(entries).
 */
export function collectReusedContainerData(point: RestartPoint, source: SourceRun): ReusedContainerData {
  const path = new RestartPath(point, source);
  for (const { entry, transitions } of source.entries) path.observe(entry, transitions);
  const frames = path.startedFrames(source.runId);
  const keptData = new KeptData(path, source.plan);
  for (const { entry, transitions } of source.entries) keptData.add(entry, transitions);
  path.requireSources(keptData.endedBlocks, source.runId);
  const { ledger } = keptData;
  setStaticItems(ledger, path, point);
  return {
    frames,
    blocks: new Set(keptData.endedBlocks.flatMap((endedBlock) => [...endedBlock])),
    variables: ledger.variables,
    scopeWith: (replacements) => {
      for (const [id, value] of Object.entries(replacements)) replaceOutput(ledger, point, { id, value });
      return withoutTopLevel(toSavedScope(ledger.root), point);
    },
  };
}

/** The data of the kept entries. */
class KeptData {
  readonly ledger: Ledger;
  /** By depth: the blocks directly in the frame that have ended in it, or were reused. */
  readonly endedBlocks: Set<string>[];
  readonly #path: RestartPath;

  constructor(path: RestartPath, plan: Plan) {
    this.#path = path;
    this.ledger = new Ledger(plan, path.index);
    this.endedBlocks = path.frames.map(() => new Set());
  }

  add(entry: Entry, transitions: readonly Transition[]): void {
    if (this.#isKept(entry)) {
      this.ledger.applyEntry(entry);
      if (entry.type === 'started') this.#addRestoredBlocks(entry);
      else if (endsBlock(entry)) this.#markEnded(entry);
    }
    for (const transition of transitions) {
      const place = this.#path.index.placeOf(transition.at);
      if (!this.#path.isKeptTransition(transition, place)) continue;
      this.ledger.applyTransition(transition, place);
      if (transition.type === 'exited' || transition.type === 'failed') this.#markEnded(place);
    }
  }

  #isKept(entry: Entry): boolean {
    if (entry.type === 'started') return true;
    if (entry.type === 'cancelled' || entry.block === undefined) return false;
    const place = entry as Place;
    return this.#path.isKept(place) || (entry.type === 'expanded' && this.#path.depthOf(place) >= 0);
  }

  #markEnded(place: Place): void {
    this.endedBlocks[this.#path.frameDepthOf(place)]?.add(place.block);
  }

  /** Adds the blocks of the same frames that the earlier run itself reused. */
  #addRestoredBlocks({ start, reused }: Extract<Entry, { type: 'started' }>): void {
    const { frames = [], scope: outermostScope } = reused?.inside ?? {};
    const numbers = frames.map(({ iteration }) => iteration);
    let outerScope = outermostScope;
    for (const [depth, container] of (this.#path.index.byId(start)?.containers ?? []).entries()) {
      const { current, scope } = readFrame(outerScope, container, numbers[depth]);
      outerScope = scope;
      for (const block of current) {
        const place = { block, scope: numbers.slice(0, depth + 1) };
        if (this.#path.isKept(place)) this.#markEnded(place);
      }
    }
  }
}

/** Returns the scope of an iteration or branch of a container, and the blocks that have run in it. */
function readFrame(outerScope: SavedScope | undefined, { id, kind }: Node, iteration: number | undefined) {
  if (kind === 'loop') {
    const loop = outerScope?.loops.find(({ block }) => block === id);
    return { current: loop?.current ?? [], scope: outerScope };
  }
  const parallel = outerScope?.parallels.find(({ block }) => block === id);
  const scope = parallel?.branches.find(({ branch }) => branch === iteration)?.scope;
  return { current: scope?.current ?? [], scope };
}

/**
 * Returns true for an entry that ends a block. If the answer to a pause continues the block, a later entry ends it.
 */
function endsBlock(entry: Entry): entry is Entry & Place {
  if (entry.type === 'resumed') return entry.try === undefined;
  return entry.type === 'completed' || (entry.type === 'fired' && entry.timer === 'wait');
}

/** For containers whose items are a literal list, replaces the items with the list of the new plan. */
function setStaticItems(
  { root }: Ledger,
  { frames, index }: RestartPath,
  { plan, iterations }: RestartPoint,
): void {
  for (const [depth, { container }] of frames.entries()) {
    const config = plan.blocks[container.id]?.container;
    const indexedNode = index.byId(container.id);
    if (!indexedNode || !config || !('collection' in config) || !('static' in config.collection)) continue;
    const scope = scopeOf(root, indexedNode, iterations.slice(0, depth));
    const state = scope?.loops.get(container.id) ?? scope?.parallels.get(container.id);
    if (state) state.items = { v: config.collection.static };
  }
}

/** Replaces the output of a block in a frame around the start, and in the results of its container. */
function replaceOutput(
  { root }: Ledger,
  { plan, iterations }: RestartPoint,
  { id, value }: { id: string; value: StoredValue },
): void {
  const indexedNode = indexPlan(plan).byId(id);
  const scope = indexedNode && scopeOf(root, indexedNode, iterations.slice(0, indexedNode.containers.length));
  const output = scope?.outputs.get(id);
  if (!output) return;
  const current = currentOutputs(scope, indexedNode?.containers.at(-1));
  const position = current.indexOf(output.value);
  if (position >= 0) current[position] = value;
  scope?.outputs.set(id, { ...output, value });
}

/** Returns the outputs of the blocks that have run in the open iteration or branch of a container. */
function currentOutputs(scope: BranchScope | undefined, container: Node | undefined): StoredValue[] {
  const loop = container?.kind === 'loop' ? scope?.loops.get(container.id) : undefined;
  return (container?.kind === 'loop' ? loop : scope)?.current ?? [];
}

/**
 * Returns the scope without the data of the top level, except that of the outermost container around the start: outputs
 * of the top level are reused separately, and other containers are not entered again.
 */
function withoutTopLevel(scope: SavedScope, { plan, block }: RestartPoint): SavedScope {
  const index = indexPlan(plan);
  const isInner = (id: string): boolean =>
    (index.byId(id)?.containers.length ?? 0) > 0 || id === block.containers[0];
  return {
    ...scope,
    outputs: scope.outputs.filter((output) => isInner(output.block) && output.block !== block.containers[0]),
    loops: scope.loops.filter((loop) => isInner(loop.block)),
    parallels: scope.parallels.filter((parallel) => isInner(parallel.block)),
  };
}
