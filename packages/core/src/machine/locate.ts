import type { Address } from './event.ts';
import type { Region } from './skeleton.ts';
import { isOpenContainer, nodeAt } from './state.ts';
import type { Drain, Level, State } from './state.ts';
import type { DrainScope } from './step-context.ts';

/** Where an address leads: the frame's level, and what around it is being given up. */
export interface FrameLocation {
  level: Level;
  draining: { scope: DrainScope; drain: Drain } | undefined;
}

/** The level of the frame that holds the last node of `at`; undefined when a frame on the way is closed. */
export function locate(state: State, top: Level, at: Address): FrameLocation | undefined {
  let level = top;
  let draining: FrameLocation['draining'] = state.drain && { scope: { of: 'run' }, drain: state.drain };
  for (let depth = 0; depth + 1 < at.length; depth += 2) {
    const node = at[depth] as number;
    const iteration = at[depth + 1] as number;
    const cell = level.frame.cells[node];
    if (cell === undefined || !isOpenContainer(cell)) return undefined;
    const frame = Object.hasOwn(cell.open, iteration) ? cell.open[iteration] : undefined;
    if (!frame) return undefined;
    if (cell.drain) draining ??= { scope: { of: 'container', level, index: node }, drain: cell.drain };
    const body = nodeAt(level.region, node).subflow?.body as Region;
    level = { region: body, frame, parent: level, node, iteration };
    if (frame.drain) draining ??= { scope: { of: 'branch', level }, drain: frame.drain };
  }
  return { level, draining };
}
