import type { Address } from './event.ts';
import type { Region } from './skeleton.ts';
import { locate } from './locate.ts';
import { isOpenContainer, isWork } from './state.ts';
import type { State, Work } from './state.ts';

/** The work in flight at an address; undefined when there is none. */
export function workAt(region: Region, state: State, at: Address): Work | undefined {
  const cell = cellAt(region, state, at);
  return cell !== undefined && isWork(cell) ? cell : undefined;
}

/** Turns or branches in all of the open container at an address; undefined: it is not open, or they are not known. */
export function countAt(region: Region, state: State, at: Address): number | undefined {
  const cell = cellAt(region, state, at);
  return cell !== undefined && isOpenContainer(cell) && cell.count >= 0 ? cell.count : undefined;
}

function cellAt(region: Region, state: State, at: Address) {
  const level = locate(
    state,
    { region, frame: state.frame, parent: null, node: -1, iteration: 0 },
    at,
  )?.level;
  return level?.frame.cells[at[at.length - 1] as number];
}
