import { advance, initialState, pendingCommands } from '../../packages/core/src/machine/index.ts';
import type {
  Command,
  Event,
  Transition,
  Region,
  StartedEvent,
  State,
} from '../../packages/core/src/machine/index.ts';
import { addressOf, nameOf } from './graph.ts';

type FailedEvent = Extract<Event, { type: 'failed' }>;

/**
 * A run of the machine. Each method except `pendingCommands` feeds one event to the machine and returns the
 * resulting commands as strings.
 */
export interface MachineRun {
  readonly state: State;
  /** The time of the next events. Tests set it to advance the time. */
  nowMs: number;
  /** True if the last event changed the state. */
  changed: boolean;
  transitions: string[];
  feed(event: Event): string[];
  complete(name: string, port?: string, attempt?: number, resumes?: number): string[];
  fail(name: string, fields?: Partial<FailedEvent>): string[];
  expand(name: string, count: number, iteration?: number): string[];
  wait(name: string, dueMs?: number): string[];
  pause(name: string): string[];
  /** Pauses an attempt that continues when it is resumed. */
  pauseToContinue(name: string, fields?: { attempt?: number; resumes?: number }): string[];
  resume(name: string, fields?: { attempt?: number; resumes?: number }): string[];
  block(name: string, on: 'human' | 'time' | null): string[];
  fire(name: string, timer: 'retry' | 'wait' | 'timeout' | 'grace' | 'deadline', attempt?: number): string[];
  cancel(): string[];
  /** Returns the pending commands, which a driver executes if it starts from this state. */
  pendingCommands(): string[];
}

/**
 * Starts a run of `region`, at its first node unless `options.start` names another. `firstCommands` are the commands
 * that the start returns.
 */
export function startMachine(
  region: Region,
  options: Partial<Omit<StartedEvent, 'start' | 'until'>> & { start?: string; until?: string } = {},
): { run: MachineRun; firstCommands: string[] } {
  const state = initialState();
  const addressOfNode = (name: string): number[] => addressOf(region, name);
  const run: MachineRun = {
    state,
    nowMs: 1000,
    changed: false,
    transitions: [],
    feed(event) {
      const outcome = advance(region, state, event);
      run.changed = outcome.changed;
      run.transitions = outcome.transitions.map((transition) => formatTransition(region, transition));
      return outcome.commands.map((command) => formatCommand(region, command));
    },
    complete: (name, port, attempt = 1, resumes = 0) =>
      run.feed({
        type: 'completed',
        at: addressOfNode(name),
        atMs: run.nowMs,
        attempt,
        ...(resumes > 0 && { resumes }),
        ...(port && { port }),
      }),
    fail: (name, fields = {}) =>
      run.feed({
        type: 'failed',
        at: addressOfNode(name),
        atMs: run.nowMs,
        attempt: 1,
        retryable: true,
        ...fields,
      }),
    expand: (name, count, iteration = 0) =>
      run.feed({ type: 'expanded', at: addressOfNode(name), atMs: run.nowMs, iteration, count }),
    wait: (name, dueMs = run.nowMs + 100) =>
      run.feed({ type: 'paused', at: addressOfNode(name), atMs: run.nowMs, attempt: 1, kind: 'time', dueMs }),
    pause: (name) =>
      run.feed({ type: 'paused', at: addressOfNode(name), atMs: run.nowMs, attempt: 1, kind: 'human' }),
    pauseToContinue: (name, fields = {}) => {
      const paused = { type: 'paused', attempt: 1, kind: 'human', continues: true } as const;
      return run.feed({ ...paused, at: addressOfNode(name), atMs: run.nowMs, ...fields });
    },
    resume: (name, fields = {}) =>
      run.feed({ type: 'resumed', at: addressOfNode(name), atMs: run.nowMs, ...fields }),
    block: (name, on) => run.feed({ type: 'blocked', at: addressOfNode(name), atMs: run.nowMs, on }),
    fire: (name, timer, attempt) =>
      run.feed({
        type: 'fired',
        at: addressOfNode(name),
        atMs: run.nowMs,
        timer,
        ...(attempt !== undefined && { attempt }),
      }),
    cancel: () => run.feed({ type: 'cancelled', atMs: run.nowMs }),
    pendingCommands: () => pendingCommands(region, state).map((command) => formatCommand(region, command)),
  };
  const { start, until, ...fields } = options;
  const firstCommands = run.feed({
    type: 'started',
    atMs: run.nowMs,
    start: start === undefined ? 0 : (addressOfNode(start)[0] as number),
    graceMs: 50,
    ...(until !== undefined && { until: addressOfNode(until)[0] as number }),
    ...fields,
  });
  return { run, firstCommands };
}

/**
 * Returns `command` as a string: `run a`, `run a #2` (the second attempt), `run a +1` (after one
 * resume), `expand L 0`, `timer a retry 1100`, `open p`, `abort a failed`, `end completed`.
 */
export function formatCommand(region: Region, command: Command): string {
  const nodeName = command.at === undefined ? '' : nameOf(region, command.at);
  const parts: unknown[] = [command.type, nodeName];
  if (command.type === 'run' || command.type === 'open')
    parts.push(
      ...[(command.try ?? 1) > 1 ? `#${command.try}` : '', command.resumes ? `+${command.resumes}` : ''],
    );
  else if (command.type === 'expand') parts.push(command.turn);
  else if (command.type === 'timer') parts.push(command.timer, command.dueMs);
  else if (command.type === 'abort') parts.push(command.why);
  else if (command.type === 'end') parts.splice(1, 1, command.status, command.reason ?? '', nodeName);
  return parts.filter((part) => part !== '').join(' ');
}

function formatTransition(region: Region, transition: Transition): string {
  const parts: unknown[] = [transition.type, nameOf(region, transition.at)];
  if (transition.type === 'opened') parts.push(transition.iteration);
  else if (transition.type === 'exited') parts.push(transition.count);
  else if (transition.type === 'closed')
    parts.push(transition.iteration, transition.failed ? `after ${nameOf(region, transition.failed)}` : '');
  else if (transition.type === 'failed') {
    parts.push(transition.handled ? 'handled' : '', transition.timedOut ? 'timed out' : '');
    parts.push(transition.limit === undefined ? '' : `limit ${transition.limit}`);
    parts.push(transition.cause ? `because of ${nameOf(region, transition.cause)}` : '');
  }
  return parts.filter((part) => part !== '').join(' ');
}
