import { failNode } from './failure.ts';
import { prepare } from './prepared.ts';
import { addressOf, isSpan, nodeAt } from './state.ts';
import type { Frame, Level, Span } from './state.ts';
import type { Subflow } from './skeleton.ts';
import type { Turn } from './turn.ts';

// When does a frame open and close? R7 it closes when no node is left; R8 turns follow one another; R9 branches run side by
// side in a sliding window; R10 how many is known, or asked.

/** Opens the container at `index`. */
export function enterContainer(turn: Turn, level: Level, index: number): void {
  const subflow = subflowAt(level, index);
  level.frame.cells[index] = { next: 0, count: subflow.count ?? -1, asking: false, live: 0, open: {} };
  turn.notices.push({ type: 'entered', at: addressOf(level, index) });
  proceed(turn, level, index);
}

/** The answer to `expand`: turns or branches in all, or whether another turn follows. */
export function expandContainer(turn: Turn, level: Level, index: number, count: number): void {
  if (!subflowAt(level, index).perTurn) {
    spanAt(level, index).count = count;
    proceed(turn, level, index);
  } else if (count > 0) openNext(turn, level, index);
  else exit(turn, level, index);
}

/** The frame of `inner` is done: another turn, other branches, or the exit. */
export function closeFrame(turn: Turn, inner: Level, failed: readonly number[] | undefined): void {
  const level = inner.parent as Level;
  const span = spanAt(level, inner.node);
  delete span.open[inner.turn];
  span.live--;
  turn.notices.push({
    type: 'closed',
    at: addressOf(level, inner.node),
    turn: inner.turn,
    ...(failed && { failed }),
  });
  proceed(turn, level, inner.node);
}

/** Opens what may open now; asks when the container asks; exits when nothing is left. */
function proceed(turn: Turn, level: Level, index: number): void {
  const span = spanAt(level, index);
  const subflow = subflowAt(level, index);
  if (subflow.perTurn && !(subflow.firstFree && span.next === 0)) ask(turn, level, index);
  else if (subflow.perTurn) openNext(turn, level, index);
  else if (span.count < 0) ask(turn, level, index);
  // R11: a limit is never a silent cap.
  else if (span.count > subflow.limit) fail(turn, level, index, subflow.limit);
  else fill(turn, level, index);
}

function fill(turn: Turn, level: Level, index: number): void {
  const span = spanAt(level, index);
  const window =
    subflowAt(level, index).window ?? (nodeAt(level.region, index).kind === 'loop' ? 1 : Infinity);
  while (span.live < window && span.next < span.count) openNext(turn, level, index);
  if (span.live === 0) exit(turn, level, index);
}

function ask(turn: Turn, level: Level, index: number): void {
  const span = spanAt(level, index);
  span.asking = true;
  turn.state.busy++;
  turn.commands.push({ type: 'expand', at: addressOf(level, index), turn: span.next });
}

function openNext(turn: Turn, level: Level, index: number): void {
  const span = spanAt(level, index);
  const { body, limit } = subflowAt(level, index);
  if (span.next >= limit) {
    fail(turn, level, index, limit);
    return;
  }
  const number = span.next++;
  const frame: Frame = { left: body.nodes.length, cells: prepare(body).cells.slice() };
  span.open[number] = frame;
  span.live++;
  turn.notices.push({ type: 'opened', at: addressOf(level, index), turn: number });
  const inner: Level = { region: body, frame, parent: level, node: index, turn: number };
  for (const entry of body.entries) turn.tasks.push({ do: 'start', level: inner, index: entry });
  if (frame.left === 0) turn.tasks.push({ do: 'close', level: inner });
}

function exit(turn: Turn, level: Level, index: number): void {
  turn.notices.push({ type: 'exited', at: addressOf(level, index), count: spanAt(level, index).next });
  turn.tasks.push({ do: 'settle', level, index, cell: 'source' });
}

function fail(turn: Turn, level: Level, index: number, limit: number): void {
  failNode(turn, level, index, { limit });
}

function subflowAt(level: Level, index: number): Subflow {
  return nodeAt(level.region, index).subflow as Subflow;
}

function spanAt(level: Level, index: number): Span {
  const cell = level.frame.cells[index];
  if (cell === undefined || !isSpan(cell))
    throw new Error(`no open container at ${addressOf(level, index).join('.')}`);
  return cell;
}
