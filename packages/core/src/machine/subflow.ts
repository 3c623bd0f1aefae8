import { failNode } from './failure.ts';
import type { FrameStart } from './event.ts';
import { cellsFrom, prepareRegion } from './prepare.ts';
import { addressOf, isOpenContainer, nodeAt } from './state.ts';
import type { Frame, Level, OpenContainer } from './state.ts';
import type { Subflow } from './skeleton.ts';
import type { StepContext } from './step-context.ts';

// When frames (iterations and branches) open and close. R7: a frame closes when all its nodes are settled. R8:
// iterations run one after another. R9: branches run concurrently in a sliding window. R10: the count is known, or the
// container asks for it.

/** Opens the container at `index`. */
export function enterContainer(context: StepContext, level: Level, index: number): void {
  const subflow = subflowAt(level, index);
  level.frame.cells[index] = { next: 0, count: subflow.count ?? -1, asking: false, live: 0, open: {} };
  context.transitions.push({ type: 'entered', at: addressOf(level, index) });
  continueContainer(context, level, index);
}

/**
 * Opens the container at `index` with the frame in which a run starts, and inner containers in the same way. Earlier
 * iterations and other branches count as completed, except for the missing ones.
 */
export function enterInside(
  context: StepContext,
  level: Level,
  index: number,
  [outermostStart, ...innerStarts]: readonly FrameStart[],
): void {
  const { body } = subflowAt(level, index);
  const { iteration, node, count, next, missing } = outermostStart as FrameStart;
  const frame: Frame = cellsFrom(body, node);
  level.frame.cells[index] = {
    ...{ next, count, asking: false, live: 1, open: { [iteration]: frame } },
    ...(missing && missing.length > 0 && { missing: missing.toReversed() }),
  };
  const at = addressOf(level, index);
  context.transitions.push({ type: 'entered', at }, { type: 'opened', at, iteration });
  const innerLevel: Level = { region: body, frame, parent: level, node: index, iteration };
  if (innerStarts.length > 0) enterInside(context, innerLevel, node, innerStarts);
  else context.tasks.push({ type: 'start', level: innerLevel, index: node });
  openWindow(context, level, index);
}

/** Applies the answer to `expand`: the number of iterations or branches, or whether another iteration follows. */
export function expandContainer(context: StepContext, level: Level, index: number, count: number): void {
  if (!subflowAt(level, index).perTurn) {
    containerAt(level, index).count = count;
    continueContainer(context, level, index);
  } else if (count > 0) openNextFrame(context, level, index);
  else exitContainer(context, level, index);
}

/** Closes the frame of `innerLevel`, then opens the next iteration or branches, or leaves the container. */
export function closeFrame(
  context: StepContext,
  innerLevel: Level,
  failed: readonly number[] | undefined,
): void {
  const level = innerLevel.parent as Level;
  const container = containerAt(level, innerLevel.node);
  delete container.open[innerLevel.iteration];
  container.live--;
  context.transitions.push({
    type: 'closed',
    at: addressOf(level, innerLevel.node),
    iteration: innerLevel.iteration,
    ...(failed && { failed }),
  });
  continueContainer(context, level, innerLevel.node);
}

/**
 * Opens the frames that may open now, sends `expand` if the container must ask first, or leaves the container if no
 * frame remains.
 */
function continueContainer(context: StepContext, level: Level, index: number): void {
  const container = containerAt(level, index);
  const subflow = subflowAt(level, index);
  if (subflow.perTurn && !(subflow.firstFree && container.next === 0))
    requestExpansion(context, level, index);
  else if (subflow.perTurn) openNextFrame(context, level, index);
  else if (container.count < 0) requestExpansion(context, level, index);
  // R11: a limit fails the container. It never truncates.
  else if (container.count > subflow.limit) failContainer(context, level, index, subflow.limit);
  else openWindow(context, level, index);
}

function openWindow(context: StepContext, level: Level, index: number): void {
  const container = containerAt(level, index);
  const window =
    subflowAt(level, index).window ?? (nodeAt(level.region, index).kind === 'loop' ? 1 : Infinity);
  const hasNext = (): boolean => container.missing !== undefined || container.next < container.count;
  while (container.live < window && hasNext()) openNextFrame(context, level, index);
  if (container.live === 0) exitContainer(context, level, index);
}

function requestExpansion(context: StepContext, level: Level, index: number): void {
  const container = containerAt(level, index);
  container.asking = true;
  context.state.busy++;
  context.commands.push({ type: 'expand', at: addressOf(level, index), turn: container.next });
}

function openNextFrame(context: StepContext, level: Level, index: number): void {
  const container = containerAt(level, index);
  const { body, limit } = subflowAt(level, index);
  const missingBranch = takeMissingBranch(container);
  if (missingBranch === undefined && container.next >= limit) {
    failContainer(context, level, index, limit);
    return;
  }
  const frameNumber = missingBranch ?? container.next++;
  const frame: Frame = { left: body.nodes.length, cells: prepareRegion(body).cells.slice() };
  container.open[frameNumber] = frame;
  container.live++;
  context.transitions.push({ type: 'opened', at: addressOf(level, index), iteration: frameNumber });
  const innerLevel: Level = { region: body, frame, parent: level, node: index, iteration: frameNumber };
  for (const entry of body.entries) context.tasks.push({ type: 'start', level: innerLevel, index: entry });
  if (frame.left === 0) context.tasks.push({ type: 'close', level: innerLevel });
}

/** Removes and returns the next missing branch; undefined if there is none. */
function takeMissingBranch(container: OpenContainer): number | undefined {
  const branch = container.missing?.pop();
  if (container.missing?.length === 0) delete container.missing;
  return branch;
}

function exitContainer(context: StepContext, level: Level, index: number): void {
  context.transitions.push({
    type: 'exited',
    at: addressOf(level, index),
    count: containerAt(level, index).next,
  });
  context.tasks.push({ type: 'settle', level, index, cell: 'source' });
}

function failContainer(context: StepContext, level: Level, index: number, limit: number): void {
  failNode(context, level, index, { limit });
}

function subflowAt(level: Level, index: number): Subflow {
  return nodeAt(level.region, index).subflow as Subflow;
}

function containerAt(level: Level, index: number): OpenContainer {
  const cell = level.frame.cells[index];
  if (cell === undefined || !isOpenContainer(cell))
    throw new Error(`no open container at ${addressOf(level, index).join('.')}`);
  return cell;
}
