import { prepare } from './prepared.ts';
import { addressOf, nodeAt, SKIPPED } from './state.ts';
import type { Cell, Level } from './state.ts';
import type { Turn } from './turn.ts';

// When does a node start? R3 a join waits for all its sources; R4 one live edge runs it; R5 none skips it, and what follows.

/** Asks for one try of a block's work. */
export function runTry(turn: Turn, level: Level, index: number, attempt: number): void {
  const { timeoutMs } = nodeAt(level.region, index);
  const at = addressOf(level, index);
  turn.state.busy++;
  turn.commands.push({ type: 'run', at, try: attempt });
  if (timeoutMs === undefined) {
    level.frame.cells[index] = { w: 'run', try: attempt };
    return;
  }
  const dueMs = turn.atMs + timeoutMs;
  level.frame.cells[index] = { w: 'run', try: attempt, dueMs };
  turn.commands.push({ type: 'timer', at, timer: 'timeout', dueMs, try: attempt });
}

/** Writes down how the node at `index` ended, and settles its out-edges in edge order. */
export function settleNode(turn: Turn, level: Level, index: number, cell: Cell): void {
  const { frame, region } = level;
  frame.cells[index] = cell;
  frame.left--;
  for (const out of prepare(region).outs[index] ?? []) {
    arrive(
      turn,
      level,
      out.to,
      out.ports.some((port) => isLive(port, cell)),
    );
  }
  if (level.parent === null && turn.state.until === index) {
    turn.tasks.push({ do: 'drain', scope: { of: 'run' }, why: 'until' });
  } else if (nodeAt(region, index).answers && cell === 'source') {
    turn.tasks.push({ do: 'drain', scope: { of: 'run' }, why: 'answered', cause: addressOf(level, index) });
  } else if (frame.left === 0) {
    turn.tasks.push(level.parent ? { do: 'close', level } : { do: 'end', status: 'completed' });
  }
}

function arrive(turn: Turn, level: Level, to: number, live: boolean): void {
  const before = level.frame.cells[to];
  // A node that the run's start does not reach stays skipped.
  if (typeof before !== 'number' || before === SKIPPED) return;
  const cell = (before - 2) | (live ? 1 : 0);
  if (cell > 1) level.frame.cells[to] = cell;
  else if (cell === 1) turn.tasks.push({ do: 'start', level, index: to });
  else turn.tasks.push({ do: 'settle', level, index: to, cell: SKIPPED });
}

/** R2 an edge is live when its node took its port; a `source` edge whenever the node did not fail. */
function isLive(port: string, cell: Cell): boolean {
  return typeof cell === 'string' && (cell === port || (port === 'source' && cell !== 'error'));
}
