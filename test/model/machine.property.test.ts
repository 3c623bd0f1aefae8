import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pendingCommands } from '../../packages/core/src/machine/index.ts';
import type { Drain } from '../../packages/core/src/machine/state.ts';
import { pickByScale } from '../support/scale.ts';
import { scenarios } from './arbitraries.ts';
import type { ScenarioKind, Scenario } from './arbitraries.ts';
import { CheckedRun, keyOf } from './checked-run.ts';
import { nodeAt, respond } from './environment.ts';
import type { WorkCommand } from './environment.ts';
import { runReference } from './reference.ts';
import type { Answer, Call, Environment } from './drain-scope.ts';
import { createSeededRandom } from '../support/seeded-random.ts';

const scenarioKinds: readonly ScenarioKind[] = ['order-independent', 'unrestricted'];

/** Maximum number of events of a run. Longer runs are cut off. */
const MAX_EVENTS = 400;

/** The environment of the reference: calls wait until the test answers them. */
class WaitingEnvironment implements Environment {
  readonly openCalls = new Map<string, (answer: Answer) => void>();

  ask(call: Call): Promise<Answer> {
    return new Promise((resolve) => this.openCalls.set(keyOfCall(call), resolve));
  }

  cancel(call: Call): void {
    this.openCalls.delete(keyOfCall(call));
  }
}

function keyOfCall(call: Call): string {
  return `${call.type} ${call.at.join('.')} ${call.number}${call.resumes ? `+${call.resumes}` : ''}`;
}

/** Waits until all promises that do not wait for an answer have settled. */
function waitUntilSettled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Feeds a `blocked` event of a child run, or no event. The event changes only what the run waits for. */
function reportBlockedChild(run: CheckedRun, random: () => number): void {
  const sortedCommands = [...run.openCommands.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [, command] of sortedCommands) {
    if (command.type !== 'run' || nodeAt(run.region, command.at).class !== 'child' || random() < 0.5)
      continue;
    const blockedOn = random() < 0.4 ? 'human' : random() < 0.6 ? 'time' : null;
    run.feed({ type: 'blocked', at: command.at, atMs: run.nowMs, on: blockedOn });
    return;
  }
}

/** Answers the commands of a run in a random order, until the run ends or has `maxEvents` more events. */
function answerRandomly(run: CheckedRun, random: () => number, maxEvents = MAX_EVENTS): void {
  for (let count = 0; count < maxEvents && !run.end; count++) {
    reportBlockedChild(run, random);
    const keys = run.answerableKeys();
    expect(keys.length, 'no progress').toBeGreaterThan(0);
    run.answer(keys[Math.floor(random() * keys.length)] as string);
  }
}

/**
 * Answers the commands of a run in a random order, until its deadline fires. Returns the phase of the run at that time;
 * undefined if the run had already ended.
 */
function answerUntilDeadline(run: CheckedRun, random: () => number): Drain['why'] | 'running' | undefined {
  for (let count = 0; count < 60 && !run.end; count++) {
    const { busy, timers, humans, deadline, drain } = run.state;
    const isPaused = deadline?.activeOnly === true && busy + timers === 0 && humans > 0;
    expect(deadline?.dueMs === undefined, 'time does not advance').toBe(isPaused);
    if (deadline?.dueMs !== undefined && run.nowMs >= deadline.dueMs) {
      run.answer([...run.openCommands.keys()].find((key) => key.startsWith('deadline '))!);
      return drain?.why ?? 'running';
    }
    answerRandomly(run, random, 1);
  }
  return undefined;
}

/** Gives the machine and the reference the same answers, and compares their open work after each. */
async function expectSameAsReference(scenario: Scenario): Promise<void> {
  const run = new CheckedRun(scenario);
  const environment = new WaitingEnvironment();
  const random = createSeededRandom(scenario.orderSeed);
  const ending = runReference(scenario.region, scenario.start, environment, scenario.graceMs);
  run.start();
  for (let count = 0; count < MAX_EVENTS; count++) {
    await waitUntilSettled();
    expect([...environment.openCalls.keys()].sort()).toEqual(run.answerableKeys());
    if (run.end) break;
    reportBlockedChild(run, random);
    const keys = run.answerableKeys();
    const key = keys[Math.floor(random() * keys.length)] as string;
    const { answer } = respond(scenario, run.openCommands.get(key)!, run.nowMs);
    const resolve = environment.openCalls.get(key)!;
    environment.openCalls.delete(key);
    run.answer(key);
    resolve(answer);
  }
  if (!run.end) return;
  const { status, at } = run.end;
  expect(await ending).toEqual({ status, ...(at && { at }) });
}

describe('the random runs', () => {
  it('cover every kind of event', () => {
    const kinds = new Set<string>();
    for (const scenario of fc.sample(scenarios('unrestricted'), { numRuns: 400, seed: 1 })) {
      const run = new CheckedRun(scenario);
      run.start();
      answerRandomly(run, createSeededRandom(scenario.orderSeed));
      for (const kind of run.kinds) kinds.add(kind);
    }
    const expectedKinds = [
      ...['completed', 'failed', 'expanded', 'paused', 'resumed', 'blocked', 'collected', 'limit', 'handled'],
      ...['open to continue', 'continue', 'another attempt'],
      ...['retry fired', 'wait fired', 'timeout fired', 'grace fired', 'container handled'],
      ...[
        'abort failed',
        'abort answered',
        'abort until',
        'abort timeout',
        'end completed',
        'end failed block',
      ],
      // The grace timer of a container, and that of a branch or the run.
      ...['timer grace 1', 'timer grace 0'],
    ];
    expect(expectedKinds.filter((kind) => !kinds.has(kind))).toEqual([]);
  });
});

describe('the machine', () => {
  it.each(['order-independent', 'failing'] as const)(
    'returns the same commands as the reference for each event, and has the same end (%s) (R32)',
    async (kind) => {
      await fc.assert(fc.asyncProperty(scenarios(kind), expectSameAsReference), {
        numRuns: pickByScale(40, 4000),
      });
    },
  );

  it('does the same work in any order of completion when no failure ends the run (R32)', () => {
    fc.assert(
      fc.property(scenarios('order-independent'), fc.nat(), (scenario, otherOrderSeed) => {
        const outcomes = [scenario.orderSeed, otherOrderSeed].map((orderSeed) => {
          const run = new CheckedRun(scenario);
          run.start();
          answerRandomly(run, createSeededRandom(orderSeed), 5 * MAX_EVENTS);
          return { trace: run.trace.sort(), end: run.end };
        });
        expect(outcomes[0]).toEqual(outcomes[1]);
      }),
      { numRuns: pickByScale(25, 2000) },
    );
  });

  it.each(scenarioKinds)('ignores repeated, late and unexpected events (%s) (R30)', (kind) => {
    fc.assert(
      fc.property(scenarios(kind), (scenario) => {
        const run = new CheckedRun(scenario);
        const random = createSeededRandom(scenario.orderSeed);
        run.start();
        for (let count = 0; count < 60 && !run.end; count++) {
          answerRandomly(run, random, 1);
          for (const event of run.events.slice(-3)) if (event.type !== 'blocked') run.expectIgnored(event);
          const event = run.events[Math.floor(random() * run.events.length)]!;
          if (event.type === 'blocked' || event.type === 'started') continue;
          run.expectIgnored(event);
          const at = [Math.floor(random() * 8), Math.floor(random() * 4), Math.floor(random() * 4)];
          if (!run.openCommands.has(`run ${at.join('.')} 7`))
            run.expectIgnored({ type: 'completed', at, atMs: run.nowMs, attempt: 7 });
        }
      }),
      { numRuns: pickByScale(25, 2000) },
    );
  });

  it.each(scenarioKinds)(
    'ends when it is cancelled at any point, and aborts all open work once (%s) (R29)',
    (kind) => {
      fc.assert(
        fc.property(scenarios(kind), fc.nat(40), (scenario, eventCount) => {
          const run = new CheckedRun(scenario);
          run.start();
          answerRandomly(run, createSeededRandom(scenario.orderSeed), eventCount);
          if (run.end) return;
          run.feed({ type: 'cancelled', atMs: run.nowMs });
          expect(run.end).toEqual({ type: 'end', status: 'cancelled' });
          for (const event of run.events) run.expectIgnored(event);
        }),
        { numRuns: pickByScale(25, 2000) },
      );
    },
  );

  it.each([false, true])('ends by its deadline at any point (only active time: %s) (R26)', (activeOnly) => {
    fc.assert(
      fc.property(scenarios('unrestricted'), fc.integer({ min: 1, max: 200 }), (scenario, timeoutMs) => {
        const run = new CheckedRun(scenario);
        run.start({ timeoutMs, activeOnly });
        const phase = answerUntilDeadline(run, createSeededRandom(scenario.orderSeed));
        if (phase === undefined) return;
        const [status, reason] = {
          running: ['failed', 'deadline'],
          failed: ['failed', 'block'],
          answered: ['completed'],
          until: ['completed'],
        }[phase] as [string, string?];
        expect(run.end).toMatchObject({ status, ...(reason && { reason }) });
      }),
      { numRuns: pickByScale(25, 2000) },
    );
  });

  it('continues from any point like a run that was not interrupted (R31)', () => {
    fc.assert(
      fc.property(scenarios('unrestricted'), fc.nat(30), (scenario, eventCount) => {
        const [uninterruptedRun, restoredRun] = [new CheckedRun(scenario), new CheckedRun(scenario)];
        uninterruptedRun.start();
        restoredRun.start();
        const [random, sameRandom] = [
          createSeededRandom(scenario.orderSeed),
          createSeededRandom(scenario.orderSeed),
        ];
        answerRandomly(uninterruptedRun, random, eventCount);
        answerRandomly(restoredRun, sameRandom, eventCount);
        // The restored run discards its commands, and reads the pending commands from its state.
        expect([...restoredRun.openCommands.keys()].sort()).toEqual(
          [...uninterruptedRun.openCommands.keys()].sort(),
        );
        restoredRun.openCommands.clear();
        if (!restoredRun.end)
          for (const command of pendingCommands(restoredRun.region, restoredRun.state) as WorkCommand[])
            restoredRun.openCommands.set(keyOf(command), command);
        answerRandomly(uninterruptedRun, random);
        answerRandomly(restoredRun, sameRandom);
        expect(restoredRun.trace).toEqual(uninterruptedRun.trace);
        expect(restoredRun.end).toEqual(uninterruptedRun.end);
      }),
      { numRuns: pickByScale(25, 2000) },
    );
  });
});
