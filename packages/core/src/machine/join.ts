import { beginDrain } from './drain.ts';
import { prepareRegion } from './prepare.ts';
import { addressOf, nodeAt, SKIPPED } from './state.ts';
import type { NodeState, FramePath } from './state.ts';
import type { StepContext } from './step-context.ts';

// R3: a join waits for all its sources. R4: one live edge runs it, once. R5: without a live edge it is skipped, and so
// are its successors. R6: successors start in edge order.

/** Starts an attempt at a block. */
export function startAttempt(
  context: StepContext,
  framePath: FramePath,
  index: number,
  attempt: number,
): void {
  const { timeoutMs } = nodeAt(framePath.region, index);
  const at = addressOf(framePath, index);
  context.state.busy++;
  context.commands.push({ type: 'run', at, try: attempt });
  if (timeoutMs === undefined) {
    framePath.frame.cells[index] = { w: 'run', try: attempt };
    return;
  }
  const dueMs = context.atMs + timeoutMs;
  framePath.frame.cells[index] = { w: 'run', try: attempt, dueMs };
  context.commands.push({ type: 'timer', at, timer: 'timeout', dueMs, try: attempt });
}

/** Records the outcome of the node at `index`, and settles its out-edges in edge order. */
export function settleNode(
  context: StepContext,
  framePath: FramePath,
  index: number,
  nodeState: NodeState,
): void {
  const { frame, region } = framePath;
  frame.cells[index] = nodeState;
  frame.left--;
  // A Response block (R27) and the block at which the run stops (R28) are checked before the out-edges, because nothing
  // may start after them.
  if (nodeAt(region, index).answers && nodeState === 'source') {
    beginDrain(context, { kind: 'run' }, 'answered', addressOf(framePath, index));
    return;
  }
  if (framePath.parent === null && context.state.until === index) {
    beginDrain(context, { kind: 'run' }, 'until');
    return;
  }
  for (const { to, ports } of prepareRegion(region).outgoingEdges[index] ?? [])
    settleEdge(
      context,
      framePath,
      to,
      ports.some((port) => isLive(port, nodeState)),
    );
  // R7: a frame closes when all its nodes are settled.
  if (frame.left === 0)
    context.tasks.push(
      framePath.parent ? { type: 'close', framePath } : { type: 'end', status: 'completed' },
    );
}

function settleEdge(context: StepContext, framePath: FramePath, to: number, live: boolean): void {
  // The state of the node is twice the number of unsettled sources, plus one once a live edge has arrived.
  const nodeState = ((framePath.frame.cells[to] as number) - 2) | (live ? 1 : 0);
  framePath.frame.cells[to] = nodeState;
  if (nodeState === 1) context.tasks.push({ type: 'start', framePath, index: to });
  else if (nodeState === 0) context.tasks.push({ type: 'settle', framePath, index: to, nodeState: SKIPPED });
}

/** R2: an edge is live if its node took its port. A `source` edge is live unless the node failed. */
function isLive(port: string, nodeState: NodeState): boolean {
  return (
    typeof nodeState === 'string' && (nodeState === port || (port === 'source' && nodeState !== 'error'))
  );
}
