import type { Command, Event, Node, Region } from '../../packages/core/src/machine/index.ts';
import { createSeededRandomFor } from '../support/seeded-random.ts';
import type { Scenario } from './arbitraries.ts';
import type { Answer } from './drain-scope.ts';

/** Commands that the simulated environment answers. */
export type WorkCommand = Exclude<Command, { type: 'abort' | 'end' }>;

type RunCommand = Extract<Command, { type: 'run' }>;

/** Returns the node at the address `at`. */
export function nodeAt(region: Region, at: readonly number[]): Node {
  let node = region.nodes[at[0] as number] as Node;
  for (let depth = 2; depth < at.length; depth += 2)
    node = node.subflow?.body.nodes[at[depth] as number] as Node;
  return node;
}

/** Returns the answer to `command`. The answer depends on the scenario and the command, not on the order of events. */
export function respond(
  scenario: Scenario,
  command: WorkCommand,
  atMs: number,
): { event: Event; answer: Answer } {
  const { at } = command;
  if (command.type === 'timer') {
    const { timer, try: attempt } = command;
    return {
      event: {
        type: 'fired',
        at,
        atMs: Math.max(atMs, command.dueMs),
        timer,
        ...(attempt !== undefined && { attempt }),
      },
      answer: { type: 'done' },
    };
  }
  if (command.type === 'open')
    return { event: { type: 'resumed', at, atMs, ...attemptFields(command) }, answer: { type: 'done' } };
  const random = randomFor(scenario, command);
  if (command.type === 'run') return respondToRun(scenario, command, atMs, random);
  if (scenario.kind !== 'order-independent' && random() < 0.05)
    return {
      event: { type: 'failed', at, atMs, attempt: 0, iteration: command.turn, retryable: false },
      answer: { type: 'permanent' },
    };
  const { perTurn } = nodeAt(scenario.region, at).subflow ?? {};
  const count = perTurn ? Number(random() < 0.6 && command.turn < 6) : Math.floor(random() * 4.5);
  return {
    event: { type: 'expanded', at, atMs, iteration: command.turn, count },
    answer: { type: 'count', count },
  };
}

function respondToRun(
  scenario: Scenario,
  command: RunCommand,
  atMs: number,
  random: () => number,
): { event: Event; answer: Answer } {
  const node = nodeAt(scenario.region, command.at);
  const eventFields = {
    at: command.at,
    atMs,
    attempt: command.try,
    ...attemptFields({ resumes: command.resumes }),
  };
  const mayFail = scenario.kind !== 'order-independent' || node.handlesError;
  const roll = random();
  if (mayFail && roll < 0.08 && node.timeoutMs !== undefined) return timeoutOf(command, atMs, node.timeoutMs);
  if (mayFail && roll < (scenario.kind === 'order-independent' ? 0.3 : 0.12))
    return failureOf(eventFields, random);
  const maySuspend = node.class === 'effect' && (command.resumes ?? 0) < 2;
  if (maySuspend && random() < 0.3)
    return {
      event: { type: 'paused', ...eventFields, kind: 'human', continues: true },
      answer: { type: 'paused', kind: 'open', continues: true },
    };
  return successOf(node, eventFields, random);
}

type EventFields = { at: readonly number[]; atMs: number; attempt: number; resumes?: number };

function failureOf(eventFields: EventFields, random: () => number): { event: Event; answer: Answer } {
  const retryable = random() < 0.8;
  return {
    event: { type: 'failed', ...eventFields, retryable, jitter: random() },
    answer: { type: retryable ? 'failed' : 'permanent' },
  };
}

function timeoutOf(command: RunCommand, atMs: number, timeoutMs: number): { event: Event; answer: Answer } {
  const { at, try: attempt, resumes } = command;
  // The timer is set again when the attempt resumes. An event of the earlier timer would be ignored.
  const firedAtMs = resumes === undefined ? atMs : atMs + timeoutMs;
  return {
    event: { type: 'fired', at, atMs: firedAtMs, attempt, timer: 'timeout' },
    answer: { type: 'failed' },
  };
}

/** Returns the attempt and the number of resumes of a command as fields of an event. */
function attemptFields({ try: attempt, resumes }: { try?: number; resumes?: number | undefined }): {
  attempt?: number;
  resumes?: number;
} {
  return { ...(attempt !== undefined && { attempt }), ...(resumes !== undefined && { resumes }) };
}

function successOf(
  node: Node,
  eventFields: EventFields,
  random: () => number,
): { event: Event; answer: Answer } {
  if (node.class === 'pause' || node.class === 'wait') {
    const [pauseKind, kind] =
      node.class === 'pause' ? (['human', 'open'] as const) : (['time', 'wait'] as const);
    return {
      event: { type: 'paused', ...eventFields, kind: pauseKind, dueMs: eventFields.atMs + 40 },
      answer: { type: 'paused', kind },
    };
  }
  const port = ['source', 'a', 'b'][Math.floor(random() * 3)] as string;
  return port === 'source' && random() < 0.5
    ? { event: { type: 'completed', ...eventFields }, answer: { type: 'done' } }
    : { event: { type: 'completed', ...eventFields, port }, answer: { type: 'done', port } };
}

/** Returns random numbers that depend only on the scenario and the command. */
function randomFor(scenario: Scenario, command: WorkCommand): () => number {
  const attemptOrIteration =
    command.type === 'run' ? command.try : command.type === 'expand' ? command.turn : 0;
  const resumes = command.type === 'run' ? (command.resumes ?? 0) : 0;
  return createSeededRandomFor(scenario.seed, [
    ...command.at,
    command.type.length,
    attemptOrIteration,
    ...(resumes > 0 ? [resumes] : []),
  ]);
}
