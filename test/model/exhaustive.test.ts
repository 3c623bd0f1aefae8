import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { initialState, pendingCommands, step } from '../../packages/core/src/machine/index.ts';
import type { Command, Event, State } from '../../packages/core/src/machine/index.ts';
import { loop, parallel, region } from '../support/graph.ts';
import { pickByScale } from '../support/scale.ts';
import { smallScenarios } from './arbitraries.ts';
import type { Scenario } from './arbitraries.ts';
import { checkCounters, keyOf } from './checked-run.ts';
import { respond } from './environment.ts';
import type { WorkCommand } from './environment.ts';

type EndCommand = Extract<Command, { type: 'end' }>;
type TimerCommand = Extract<Command, { type: 'timer' }>;

/** The states that are reached if the pending commands are answered in every possible order. */
interface Exploration {
  /** Number of states. */
  stateCount: number;
  /** The different ends of the run, each with the work completed before it. */
  endings: Set<string>;
  /** For each set of completed work, the states that follow it: more than one if the order matters. */
  statesByWork: Map<string, Set<string>>;
  /** False if there are too many states to visit all. */
  isComplete: boolean;
}

const MAX_STATES = 2000;

/**
 * Answers the pending commands in every order, and visits each state. Time stands still, so states do not differ in
 * time.
 */
function explore(
  scenario: Scenario,
  startOptions: Partial<Extract<Event, { type: 'started' }>> = {},
): Exploration {
  const exploration: Exploration = {
    stateCount: 0,
    endings: new Set(),
    statesByWork: new Map(),
    isComplete: true,
  };
  const seen = new Set<string>();
  const { region: graph, start: startIndex, graceMs } = scenario;
  const [root] = step(graph, initialState(), {
    type: 'started',
    atMs: 0,
    start: startIndex,
    graceMs,
    ...startOptions,
  });
  const stack: { state: State; completedKeys: string[]; end?: EndCommand | undefined }[] = [
    { state: root, completedKeys: [] },
  ];
  for (let next = stack.pop(); next !== undefined; next = stack.pop()) {
    const { state, completedKeys, end } = next;
    const serializedState = JSON.stringify(state);
    const completedWork = completedKeys.join(', ');
    if (seen.has(`${serializedState} ${completedWork}`)) continue;
    seen.add(`${serializedState} ${completedWork}`);
    exploration.stateCount++;
    exploration.statesByWork.set(
      completedWork,
      (exploration.statesByWork.get(completedWork) ?? new Set()).add(serializedState),
    );
    if (exploration.stateCount > MAX_STATES) return { ...exploration, isComplete: false };
    checkCounters(graph, state);
    if (state.phase === 'ended') {
      exploration.endings.add(`${JSON.stringify(end)} after ${completedWork}`);
      continue;
    }
    const pendingWorkCommands = pendingCommands(graph, state) as WorkCommand[];
    const commands = pendingWorkCommands.filter(
      (command) => command.type !== 'timer' || command.timer !== 'timeout',
    );
    expect(commands.length, `stuck: ${serializedState}`).toBeGreaterThan(0);
    for (const command of commands) {
      const { event: answerEvent } = respond(scenario, command, 0);
      // A timeout that is set again for a resumed attempt fires at its new due time.
      const isFutureTimeout =
        answerEvent.type === 'fired' && answerEvent.timer === 'timeout' && answerEvent.atMs > 0;
      const event = {
        ...answerEvent,
        atMs: isFutureTimeout ? timeoutDueMsOf(pendingWorkCommands, command) : 0,
      };
      const [nextState, outcome] = step(graph, state, event);
      expect(outcome.changed, 'a pending command accepts its answer').toBe(true);
      const endCommand = outcome.commands.find(
        (candidate): candidate is EndCommand => candidate.type === 'end',
      );
      stack.push({
        state: nextState,
        completedKeys: [...completedKeys, keyOf(command)].sort(),
        end: endCommand,
      });
    }
  }
  return exploration;
}

/** Returns the time at which the attempt of `command` times out. */
function timeoutDueMsOf(pendingWorkCommands: readonly WorkCommand[], { at }: WorkCommand): number {
  const timers = pendingWorkCommands.filter(
    (command) => command.type === 'timer' && command.timer === 'timeout',
  );
  const timer = timers.find((command) => command.at.join('.') === at.join('.')) as TimerCommand;
  return timer.dueMs;
}

const scenarioDefaults = { start: 0, seed: 1, kind: 'order-independent', graceMs: 50, orderSeed: 0 } as const;

describe('every order of completion', () => {
  it('of a small graph leads to one end, and the completed work determines the state (R32)', () => {
    let completeCount = 0;
    fc.assert(
      fc.property(smallScenarios('order-independent'), (scenario) => {
        const exploration = explore(scenario);
        for (const states of exploration.statesByWork.values()) expect(states.size).toBe(1);
        if (!exploration.isComplete) return;
        completeCount++;
        expect([...exploration.endings]).toHaveLength(1);
      }),
      { numRuns: pickByScale(18, 600) },
    );
    expect(completeCount).toBeGreaterThan(pickByScale(12, 400));
  });

  it('of a small graph with failures, Response blocks or draining leads to an end, and never gets stuck (R32)', () => {
    let completeCount = 0;
    fc.assert(
      fc.property(smallScenarios('unrestricted'), (scenario) => {
        const exploration = explore(scenario);
        completeCount += exploration.isComplete ? 1 : 0;
        expect(exploration.endings.size).toBeGreaterThan(exploration.isComplete ? 0 : -1);
      }),
      { numRuns: pickByScale(18, 600) },
    );
    expect(completeCount).toBeGreaterThan(pickByScale(12, 400));
  });

  it('of three branches with a window of two leads to seven states and one end (R9)', () => {
    const graph = region({ P: parallel(region('x', { x: { class: 'child' } }), { count: 3, window: 2 }) });
    const exploration = explore({ ...scenarioDefaults, region: graph });
    // Completed branches: none; 0 or 1; 0 and 1, 0 and 2, 1 and 2; all, which is the end.
    expect([exploration.stateCount, exploration.endings.size]).toEqual([7, 1]);
  });

  it('of a graph with failures in nested containers leads to one of two ends, and leaves no open work (R19)', () => {
    const collectingParallel = parallel(region('x', 'y'), { count: 2, collectErrors: true });
    const innerRegion = region('I', 'z', { I: collectingParallel });
    const graph = region('O', { O: loop(innerRegion, { count: 1 }) });
    const endings = new Set<string>();
    for (let seed = 0; seed < 40; seed++) {
      const exploration = explore({ ...scenarioDefaults, region: graph, seed, kind: 'failing' });
      expect(exploration.isComplete).toBe(true);
      // An ending begins with `{"type":"end","status":"failed"`. If it is split at the quotes, part 7 is the status.
      for (const ending of exploration.endings) endings.add(ending.split('"')[7] as string);
    }
    expect([...endings].sort()).toEqual(['completed', 'failed']);
  });
});
