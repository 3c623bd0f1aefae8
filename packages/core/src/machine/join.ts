import { beginDrain } from './drain.ts';
import { prepareRegion } from './prepare.ts';
import { addressOf, nodeAt, SKIPPED } from './state.ts';
import type { Cell, Level } from './state.ts';
import type { StepContext } from './step-context.ts';

// R3: a join waits for all its sources. R4: one live edge runs it, once. R5: without a live edge it is skipped, and so
// are its successors. R6: successors start in edge order.

/** Starts an attempt at a block. */
export function startAttempt(context: StepContext, level: Level, index: number, attempt: number): void {
  const { timeoutMs } = nodeAt(level.region, index);
  const at = addressOf(level, index);
  context.state.busy++;
  context.commands.push({ type: 'run', at, try: attempt });
  if (timeoutMs === undefined) {
    level.frame.cells[index] = { w: 'run', try: attempt };
    return;
  }
  const dueMs = context.atMs + timeoutMs;
  level.frame.cells[index] = { w: 'run', try: attempt, dueMs };
  context.commands.push({ type: 'timer', at, timer: 'timeout', dueMs, try: attempt });
}

/** Records the outcome of the node at `index`, and settles its out-edges in edge order. */
export function settleNode(context: StepContext, level: Level, index: number, cell: Cell): void {
  const { frame, region } = level;
  frame.cells[index] = cell;
  frame.left--;
  // A Response block (R27) and the block at which the run stops (R28) are checked before the out-edges, because nothing
  // may start after them.
  if (nodeAt(region, index).answers && cell === 'source') {
    beginDrain(context, { kind: 'run' }, 'answered', addressOf(level, index));
    return;
  }
  if (level.parent === null && context.state.until === index) {
    beginDrain(context, { kind: 'run' }, 'until');
    return;
  }
  for (const { to, ports } of prepareRegion(region).outgoingEdges[index] ?? [])
    settleEdge(
      context,
      level,
      to,
      ports.some((port) => isLive(port, cell)),
    );
  // R7: a frame closes when all its nodes are settled.
  if (frame.left === 0)
    context.tasks.push(level.parent ? { type: 'close', level } : { type: 'end', status: 'completed' });
}

function settleEdge(context: StepContext, level: Level, to: number, live: boolean): void {
  // The cell is twice the number of unsettled sources, plus one once a live edge has arrived.
  const cell = ((level.frame.cells[to] as number) - 2) | (live ? 1 : 0);
  level.frame.cells[to] = cell;
  if (cell === 1) context.tasks.push({ type: 'start', level, index: to });
  else if (cell === 0) context.tasks.push({ type: 'settle', level, index: to, cell: SKIPPED });
}

/** R2: an edge is live if its node took its port. A `source` edge is live unless the node failed. */
function isLive(port: string, cell: Cell): boolean {
  return typeof cell === 'string' && (cell === port || (port === 'source' && cell !== 'error'));
}
