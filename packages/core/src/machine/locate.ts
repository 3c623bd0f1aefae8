import type { Address } from './event.ts';
import type { Region } from './skeleton.ts';
import { isOpenContainer, isWork, nodeAt } from './state.ts';
import type { Cell, Drain, Level, State, Work } from './state.ts';
import type { DrainScope } from './step-context.ts';

/** The frame that an address leads to, and the outermost drain that contains the frame. */
export interface FrameLocation {
  level: Level;
  enclosingDrain: { scope: DrainScope; drain: Drain } | undefined;
}

/** Returns the frame that holds the last node of `at`; undefined if a frame on the path is closed. */
export function locate(state: State, root: Level, at: Address): FrameLocation | undefined {
  let level = root;
  let enclosingDrain: FrameLocation['enclosingDrain'] = state.drain && {
    scope: { kind: 'run' },
    drain: state.drain,
  };
  for (let depth = 0; depth + 1 < at.length; depth += 2) {
    const node = at[depth] as number;
    const iteration = at[depth + 1] as number;
    const cell = level.frame.cells[node];
    if (cell === undefined || !isOpenContainer(cell)) return undefined;
    const frame = Object.hasOwn(cell.open, iteration) ? cell.open[iteration] : undefined;
    if (!frame) return undefined;
    if (cell.drain)
      enclosingDrain ??= { scope: { kind: 'container', level, index: node }, drain: cell.drain };
    const body = nodeAt(level.region, node).subflow?.body as Region;
    level = { region: body, frame, parent: level, node, iteration };
    if (frame.drain) enclosingDrain ??= { scope: { kind: 'branch', level }, drain: frame.drain };
  }
  return { level, enclosingDrain };
}

/** Returns the level of the run's own frame. */
export function rootLevel(region: Region, state: State): Level {
  return { region, frame: state.frame, parent: null, node: -1, iteration: 0 };
}

/** Returns the cell at an address; undefined if its frame is closed. */
export function cellAt(region: Region, state: State, at: Address): Cell | undefined {
  const frame = locate(state, rootLevel(region, state), at)?.level.frame;
  return frame?.cells[at[at.length - 1] as number];
}

/** Returns the work in flight at an address; undefined if there is none. */
export function workAt(region: Region, state: State, at: Address): Work | undefined {
  const cell = cellAt(region, state, at);
  return cell !== undefined && isWork(cell) ? cell : undefined;
}

/**
 * Returns the number of iterations or branches of the open container at an address; undefined if the container is not
 * open or the number is unknown.
 */
export function countAt(region: Region, state: State, at: Address): number | undefined {
  const cell = cellAt(region, state, at);
  return cell !== undefined && isOpenContainer(cell) && cell.count >= 0 ? cell.count : undefined;
}
