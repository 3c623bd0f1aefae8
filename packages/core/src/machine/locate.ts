import type { Address } from './event.ts';
import type { Region } from './skeleton.ts';
import { isOpenContainer, isWork, nodeAt } from './state.ts';
import type { NodeState, Drain, FramePath, State, Work } from './state.ts';
import type { DrainScope } from './step-context.ts';

/** The frame that an address leads to, and the outermost drain that contains the frame. */
export interface FrameLocation {
  framePath: FramePath;
  enclosingDrain: { scope: DrainScope; drain: Drain } | undefined;
}

/** Returns the frame that holds the last node of `at`; undefined if a frame on the path is closed. */
export function locate(state: State, root: FramePath, at: Address): FrameLocation | undefined {
  let framePath = root;
  let enclosingDrain: FrameLocation['enclosingDrain'] = state.drain && {
    scope: { kind: 'run' },
    drain: state.drain,
  };
  for (let depth = 0; depth + 1 < at.length; depth += 2) {
    const node = at[depth] as number;
    const iteration = at[depth + 1] as number;
    const nodeState = framePath.frame.cells[node];
    if (nodeState === undefined || !isOpenContainer(nodeState)) return undefined;
    const frame = Object.hasOwn(nodeState.open, iteration) ? nodeState.open[iteration] : undefined;
    if (!frame) return undefined;
    if (nodeState.drain)
      enclosingDrain ??= { scope: { kind: 'container', framePath, index: node }, drain: nodeState.drain };
    const body = nodeAt(framePath.region, node).subflow?.body as Region;
    framePath = { region: body, frame, parent: framePath, node, iteration };
    if (frame.drain) enclosingDrain ??= { scope: { kind: 'branch', framePath }, drain: frame.drain };
  }
  return { framePath, enclosingDrain };
}

/** Returns the path of the run's own frame. */
export function rootFramePath(region: Region, state: State): FramePath {
  return { region, frame: state.frame, parent: null, node: -1, iteration: 0 };
}

/** Returns the state of the node at an address; undefined if its frame is closed. */
export function nodeStateAt(region: Region, state: State, at: Address): NodeState | undefined {
  const frame = locate(state, rootFramePath(region, state), at)?.framePath.frame;
  return frame?.cells[at[at.length - 1] as number];
}

/** Returns the work in flight at an address; undefined if there is none. */
export function workAt(region: Region, state: State, at: Address): Work | undefined {
  const nodeState = nodeStateAt(region, state, at);
  return nodeState !== undefined && isWork(nodeState) ? nodeState : undefined;
}

/**
 * Returns the number of iterations or branches of the open container at an address; undefined if the container is not
 * open or the number is unknown.
 */
export function countAt(region: Region, state: State, at: Address): number | undefined {
  const nodeState = nodeStateAt(region, state, at);
  return nodeState !== undefined && isOpenContainer(nodeState) && nodeState.count >= 0
    ? nodeState.count
    : undefined;
}
