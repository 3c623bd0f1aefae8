import { assert } from 'vitest';
import { isOpenContainer, isWork } from '../../packages/core/src/machine/state.ts';
import {
  advance,
  initialState,
  isPending,
  pendingCommands,
  step,
} from '../../packages/core/src/machine/index.ts';
import type {
  Command,
  Event,
  Frame,
  Transition,
  StepResult,
  Region,
  State,
  Work,
} from '../../packages/core/src/machine/index.ts';
import type { Scenario } from './arbitraries.ts';
import { respond } from './environment.ts';
import type { WorkCommand } from './environment.ts';

type EndCommand = Extract<Command, { type: 'end' }>;

/** Returns the key of the work that `command` requests. Commands for the same work have the same key. */
export function keyOf(command: WorkCommand): string {
  const address = command.at.join('.');
  if (command.type === 'run') return `run ${address} ${command.try}${suffixOf(command)}`;
  if (command.type === 'expand') return `expand ${address} ${command.turn}`;
  if (command.type === 'timer') return `${command.timer} ${address} ${command.try ?? 0}`;
  return `open ${address} ${command.try ?? 0}${suffixOf(command)}`;
}

function suffixOf({ resumes }: { resumes?: number }): string {
  return resumes === undefined ? '' : `+${resumes}`;
}

/** A run of the machine that checks its invariants after every event. */
export class CheckedRun {
  readonly scenario: Scenario;
  readonly region: Region;
  state: State = initialState();
  nowMs = 1000;
  end: EndCommand | undefined;
  /** Commands that are neither answered nor aborted, by key. */
  readonly openCommands = new Map<string, WorkCommand>();
  /** All commands so far that request work. */
  readonly commands: WorkCommand[] = [];
  /** The answered commands so far with their answers, as strings. */
  readonly trace: string[] = [];
  readonly events: Event[] = [];
  /** The kinds of events, commands and transitions so far, to check that random runs cover every kind. */
  readonly kinds = new Set<string>();

  constructor(scenario: Scenario) {
    this.scenario = scenario;
    this.region = scenario.region;
  }

  start(options: { timeoutMs?: number; activeOnly?: boolean } = {}): void {
    const { start, graceMs, until } = this.scenario;
    const runUntil = until === undefined ? {} : { until };
    this.feed({ type: 'started', atMs: this.nowMs, start, graceMs, ...runUntil, ...options });
  }

  /** Returns the keys of the open work that the environment must answer: all but timeouts and the deadline. */
  answerableKeys(): string[] {
    return [...this.openCommands.keys()].filter((key) => !/^(timeout|deadline) /.test(key)).sort();
  }

  /** Makes the simulated environment answer `key`. */
  answer(key: string): void {
    const command = this.openCommands.get(key) as WorkCommand;
    const { event } = respond(this.scenario, command, this.nowMs);
    const { type, atMs: _, at: __, ...details } = event as Extract<Event, { at: readonly number[] }>;
    // The time of an event is not part of the trace.
    const { dueMs: ___, ...tracedDetails } = details as { dueMs?: number };
    this.trace.push(`${key} ${type} ${JSON.stringify(tracedDetails)}`);
    this.feed(event);
  }

  feed(event: Event): StepResult {
    this.nowMs = Math.max(this.nowMs + 1, event.atMs);
    const serializedState = JSON.stringify(this.state);
    const [nextState, outcome] = step(this.region, this.state, event);
    assert.equal(JSON.stringify(this.state), serializedState, 'step does not change its input');
    const stateInPlace = JSON.parse(serializedState) as State;
    assert.deepEqual(
      advance(this.region, stateInPlace, event),
      outcome,
      'advance returns the same outcome as step',
    );
    assert.deepEqual(stateInPlace, nextState, 'advance leads to the same state as step');
    this.state = JSON.parse(JSON.stringify(nextState)) as State;
    assert.deepEqual(this.state, nextState, 'the state is JSON');
    this.events.push(event);
    this.#recordOutcome(event, outcome);
    for (const kind of kindsOf(event, outcome)) this.kinds.add(kind);
    checkCounters(this.region, this.state);
    this.#comparePendingCommands();
    return outcome;
  }

  /** Checks that an event would not change anything. */
  expectIgnored(event: Event): void {
    const [nextState, outcome] = step(this.region, this.state, event);
    assert.deepEqual(
      outcome,
      { commands: [], transitions: [], changed: false },
      `ignored: ${JSON.stringify(event)}`,
    );
    assert.equal(nextState, this.state);
  }

  #recordOutcome(event: Event, outcome: StepResult): void {
    if (outcome.changed) this.#removeAnsweredWork(event);
    for (const command of outcome.commands) {
      assert.isUndefined(this.end, 'no commands after the end');
      // The pause that a block requests in a drain is aborted before it opens.
      if (command.type === 'abort' && event.type === 'paused' && event.continues)
        assert.deepEqual(command.at, event.at);
      else if (command.type === 'abort') this.#removeAbortedWork(command.at);
      else if (command.type === 'end') this.end = command;
      else {
        const key = keyOf(command);
        if (command.type !== 'timer' || !['deadline', 'grace'].includes(command.timer))
          assert.isFalse(this.openCommands.has(key), `requested once: ${key}`);
        this.openCommands.set(key, command);
        this.commands.push(command);
      }
    }
    if (this.end) {
      const unfinishedKeys = this.answerableKeys().filter((key) => !key.startsWith('grace '));
      assert.deepEqual(unfinishedKeys, [], 'all open work is aborted');
      for (const command of this.commands)
        assert.isFalse(
          isPending(this.region, this.state, command),
          `pending after the end: ${keyOf(command)}`,
        );
      this.openCommands.clear();
    }
  }

  /** Removes the work that `event` answers from the open work. A timeout removes only its timer: an abort follows. */
  #removeAnsweredWork(event: Event): void {
    if (event.type === 'started' || event.type === 'cancelled' || event.type === 'blocked') return;
    const address = event.at.join('.');
    if (event.type === 'expanded') this.openCommands.delete(`expand ${address} ${event.iteration}`);
    else if (event.type === 'resumed')
      this.openCommands.delete(`open ${address} ${event.attempt ?? 0}${suffixOf(event)}`);
    else if (event.type === 'fired') {
      this.openCommands.delete(`${event.timer} ${address} ${event.attempt ?? 0}`);
    } else {
      this.openCommands.delete(`timeout ${address} ${event.attempt}`);
      if (event.type === 'failed' && event.iteration !== undefined)
        this.openCommands.delete(`expand ${address} ${event.iteration}`);
      else this.openCommands.delete(`run ${address} ${event.attempt}${suffixOf(event)}`);
    }
  }

  #removeAbortedWork(at: readonly number[]): void {
    const keys = [...this.openCommands.keys()].filter(
      (key) => key.split(' ')[1] === at.join('.') && !key.startsWith('grace '),
    );
    const workKeys = keys.filter((key) => !key.startsWith('timeout '));
    assert.lengthOf(workKeys, 1, `aborted once: ${at.join('.')}`);
    for (const key of keys) this.openCommands.delete(key);
  }

  /**
   * Checks that the pending commands are the open work. Grace timers and deadlines that are not pending must be ignored
   * when they fire.
   */
  #comparePendingCommands(): void {
    const pendingByKey = new Map(
      pendingCommands(this.region, this.state).map((command) => [
        keyOf(command as WorkCommand),
        command as WorkCommand,
      ]),
    );
    for (const [key, command] of this.openCommands) {
      if (pendingByKey.has(key) || !/^(grace|deadline) /.test(key)) continue;
      this.openCommands.delete(key);
      this.expectIgnored(respond(this.scenario, command, this.nowMs).event);
    }
    assert.deepEqual(
      Object.fromEntries(pendingByKey),
      Object.fromEntries(this.openCommands),
      'the pending commands are the open work',
    );
    const pendingJson = new Set([...pendingByKey.values()].map((command) => JSON.stringify(command)));
    for (const command of this.commands)
      assert.equal(
        isPending(this.region, this.state, command),
        pendingJson.has(JSON.stringify(command)),
        `pending or not: ${keyOf(command)}`,
      );
  }
}

function kindsOf(event: Event, outcome: StepResult): string[] {
  const eventKind = event.type === 'fired' ? `${event.timer} fired` : event.type;
  return [
    eventKind,
    ...outcome.commands.map(kindOfCommand),
    ...outcome.transitions.flatMap(kindsOfTransition),
  ];
}

function kindOfCommand(command: Command): string {
  if (command.type === 'abort') return `abort ${command.why}`;
  if (command.type === 'timer') return `timer ${command.timer} ${command.at.length % 2}`;
  if (command.type === 'end') return `end ${command.status} ${command.reason ?? ''}`.trim();
  if (command.type === 'run' && command.resumes !== undefined) return 'continue';
  if (command.type === 'open' && command.try !== undefined) return 'open to continue';
  return command.type === 'run' && command.try > 1 ? 'another attempt' : command.type;
}

function kindsOfTransition(transition: Transition): string[] {
  if (transition.type === 'closed' && transition.failed) return ['collected'];
  if (transition.type !== 'failed') return [];
  const limitKinds = transition.limit === undefined ? [] : ['limit'];
  return transition.handled
    ? [...limitKinds, transition.cause ? 'container handled' : 'handled']
    : limitKinds;
}

/** Checks that the counters of `state` match its frames. */
export function checkCounters(region: Region, state: State): void {
  const counters = { busy: 0, timers: 0, humans: 0 };
  countFrame(region, state.frame, counters, state.phase === 'draining');
  const { busy, timers, humans } = state;
  assert.deepEqual({ busy, timers, humans }, counters, 'the counters of the state');
  if (state.phase !== 'ended' && state.frame.cells.length > 0)
    assert.isAbove(busy + timers + humans, 0, 'a run that has not ended has pending work');
}

interface Counters {
  busy: number;
  timers: number;
  humans: number;
}

function countFrame(region: Region, frame: Frame, counters: Counters, isDraining = false): void {
  const openNodeStates = frame.cells.filter((nodeState) =>
    typeof nodeState === 'number' ? nodeState !== 0 : typeof nodeState === 'object',
  );
  // In a drain, stopped work is neither open nor settled.
  const isFrameDraining = isDraining || frame.drain !== undefined;
  if (!isFrameDraining) assert.equal(frame.left, openNodeStates.length, 'the counter `left` of a frame');
  frame.cells.forEach((nodeState, index) => {
    if (isOpenContainer(nodeState)) {
      if (nodeState.asking) counters.busy++;
      assert.lengthOf(Object.keys(nodeState.open), nodeState.live, 'the counter `live` of a container');
      for (const innerFrame of Object.values(nodeState.open))
        countFrame(
          region.nodes[index]?.subflow?.body as Region,
          innerFrame,
          counters,
          isFrameDraining || nodeState.drain !== undefined,
        );
    } else if (isWork(nodeState)) counters[counterNameOf(nodeState)]++;
  });
}

function counterNameOf(work: Work): 'busy' | 'timers' | 'humans' {
  if (work.w === 'run' || work.w === 'retry') return 'busy';
  if (work.w === 'blocked') return work.on === 'time' ? 'timers' : 'humans';
  return work.w === 'wait' ? 'timers' : 'humans';
}
