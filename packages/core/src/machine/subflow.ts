import { failNode } from './failure.ts';
import type { FrameStart } from './event.ts';
import { nodeStatesFrom, prepareRegion } from './prepare.ts';
import { addressOf, isOpenContainer, nodeAt } from './state.ts';
import type { Frame, FramePath, OpenContainer } from './state.ts';
import type { Subflow } from './skeleton.ts';
import type { StepContext } from './step-context.ts';

// When frames (iterations and branches) open and close. R7: a frame closes when all its nodes are settled. R8:
// iterations run one after another. R9: branches run concurrently in a sliding window. R10: the count is known, or the
// container asks for it.

/** Opens the container at `index`. */
export function enterContainer(context: StepContext, framePath: FramePath, index: number): void {
  const subflow = subflowAt(framePath, index);
  framePath.frame.cells[index] = { next: 0, count: subflow.count ?? -1, asking: false, live: 0, open: {} };
  context.transitions.push({ type: 'entered', at: addressOf(framePath, index) });
  continueContainer(context, framePath, index);
}

/**
 * Opens the container at `index` with the frame in which a run starts, and inner containers in the same way. Earlier
 * iterations and other branches count as completed, except for the missing ones.
 */
export function enterInside(
  context: StepContext,
  framePath: FramePath,
  index: number,
  [outermostStart, ...innerStarts]: readonly FrameStart[],
): void {
  const { body } = subflowAt(framePath, index);
  const { iteration, node, count, next, missing } = outermostStart as FrameStart;
  const frame: Frame = nodeStatesFrom(body, node);
  framePath.frame.cells[index] = {
    ...{ next, count, asking: false, live: 1, open: { [iteration]: frame } },
    ...(missing && missing.length > 0 && { missing: missing.toReversed() }),
  };
  const at = addressOf(framePath, index);
  context.transitions.push({ type: 'entered', at }, { type: 'opened', at, iteration });
  const innerFramePath: FramePath = { region: body, frame, parent: framePath, node: index, iteration };
  if (innerStarts.length > 0) enterInside(context, innerFramePath, node, innerStarts);
  else context.tasks.push({ type: 'start', framePath: innerFramePath, index: node });
  openWindow(context, framePath, index);
}

/** Applies the answer to `expand`: the number of iterations or branches, or whether another iteration follows. */
export function expandContainer(
  context: StepContext,
  framePath: FramePath,
  index: number,
  count: number,
): void {
  if (!subflowAt(framePath, index).perTurn) {
    containerAt(framePath, index).count = count;
    continueContainer(context, framePath, index);
  } else if (count > 0) openNextFrame(context, framePath, index);
  else exitContainer(context, framePath, index);
}

/** Closes the frame of `innerFramePath`, then opens the next iteration or branches, or leaves the container. */
export function closeFrame(
  context: StepContext,
  innerFramePath: FramePath,
  failed: readonly number[] | undefined,
): void {
  const framePath = innerFramePath.parent as FramePath;
  const container = containerAt(framePath, innerFramePath.node);
  delete container.open[innerFramePath.iteration];
  container.live--;
  context.transitions.push({
    type: 'closed',
    at: addressOf(framePath, innerFramePath.node),
    iteration: innerFramePath.iteration,
    ...(failed && { failed }),
  });
  continueContainer(context, framePath, innerFramePath.node);
}

/**
 * Opens the frames that may open now, sends `expand` if the container must ask first, or leaves the container if no
 * frame remains.
 */
function continueContainer(context: StepContext, framePath: FramePath, index: number): void {
  const container = containerAt(framePath, index);
  const subflow = subflowAt(framePath, index);
  if (subflow.perTurn && !(subflow.firstFree && container.next === 0))
    requestExpansion(context, framePath, index);
  else if (subflow.perTurn) openNextFrame(context, framePath, index);
  else if (container.count < 0) requestExpansion(context, framePath, index);
  // R11: a limit fails the container. It never truncates.
  else if (container.count > subflow.limit) failContainer(context, framePath, index, subflow.limit);
  else openWindow(context, framePath, index);
}

function openWindow(context: StepContext, framePath: FramePath, index: number): void {
  const container = containerAt(framePath, index);
  const window =
    subflowAt(framePath, index).window ?? (nodeAt(framePath.region, index).kind === 'loop' ? 1 : Infinity);
  const hasNext = (): boolean => container.missing !== undefined || container.next < container.count;
  while (container.live < window && hasNext()) openNextFrame(context, framePath, index);
  if (container.live === 0) exitContainer(context, framePath, index);
}

function requestExpansion(context: StepContext, framePath: FramePath, index: number): void {
  const container = containerAt(framePath, index);
  container.asking = true;
  context.state.busy++;
  context.commands.push({ type: 'expand', at: addressOf(framePath, index), turn: container.next });
}

function openNextFrame(context: StepContext, framePath: FramePath, index: number): void {
  const container = containerAt(framePath, index);
  const { body, limit } = subflowAt(framePath, index);
  const missingBranch = takeMissingBranch(container);
  if (missingBranch === undefined && container.next >= limit) {
    failContainer(context, framePath, index, limit);
    return;
  }
  const frameNumber = missingBranch ?? container.next++;
  const frame: Frame = { left: body.nodes.length, cells: prepareRegion(body).cells.slice() };
  container.open[frameNumber] = frame;
  container.live++;
  context.transitions.push({ type: 'opened', at: addressOf(framePath, index), iteration: frameNumber });
  const innerFramePath: FramePath = {
    region: body,
    frame,
    parent: framePath,
    node: index,
    iteration: frameNumber,
  };
  for (const entry of body.entries)
    context.tasks.push({ type: 'start', framePath: innerFramePath, index: entry });
  if (frame.left === 0) context.tasks.push({ type: 'close', framePath: innerFramePath });
}

/** Removes and returns the next missing branch; undefined if there is none. */
function takeMissingBranch(container: OpenContainer): number | undefined {
  const branch = container.missing?.pop();
  if (container.missing?.length === 0) delete container.missing;
  return branch;
}

function exitContainer(context: StepContext, framePath: FramePath, index: number): void {
  context.transitions.push({
    type: 'exited',
    at: addressOf(framePath, index),
    count: containerAt(framePath, index).next,
  });
  context.tasks.push({ type: 'settle', framePath, index, nodeState: 'source' });
}

function failContainer(context: StepContext, framePath: FramePath, index: number, limit: number): void {
  failNode(context, framePath, index, { limit });
}

function subflowAt(framePath: FramePath, index: number): Subflow {
  return nodeAt(framePath.region, index).subflow as Subflow;
}

function containerAt(framePath: FramePath, index: number): OpenContainer {
  const nodeState = framePath.frame.cells[index];
  if (nodeState === undefined || !isOpenContainer(nodeState))
    throw new Error(`no open container at ${addressOf(framePath, index).join('.')}`);
  return nodeState;
}
