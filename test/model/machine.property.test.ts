import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { pendingCommands } from '../../packages/core/src/machine/index.ts';
import type { Drain } from '../../packages/core/src/machine/state.ts';
import { scale } from '../support/scale.ts';
import { scenarios } from './arbitraries.ts';
import type { Mood, Scenario } from './arbitraries.ts';
import { Drive, keyOf } from './drive.ts';
import { reference } from './reference.ts';
import type { Answer, Call, World } from './scope.ts';
import { numbers } from '../support/seeded.ts';
import { nodeOf, respond } from './world.ts';
import type { Asked } from './world.ts';

const moods: readonly Mood[] = ['calm', 'wild'];

/** Maximum number of events of a run. Longer runs are cut off. */
const ENOUGH = 400;

/** The reference's world: calls wait until the driver answers them. */
class Waiting implements World {
  readonly open = new Map<string, (answer: Answer) => void>();

  ask(call: Call): Promise<Answer> {
    return new Promise((resolve) => this.open.set(nameOf(call), resolve));
  }

  drop(call: Call): void {
    this.open.delete(nameOf(call));
  }
}

function nameOf(call: Call): string {
  return `${call.do} ${call.at.join('.')} ${call.nth}${call.resumes ? `+${call.resumes}` : ''}`;
}

/** Waits until every promise that can settle has settled. */
function untilSettled(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(resolve);
  });
}

/** Sends `blocked` events of child runs, which change only the reason of waiting. */
function reportBlockedChildren(drive: Drive, draw: () => number): void {
  const children = [...drive.open.entries()].sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [, command] of children) {
    if (command.type !== 'run' || nodeOf(drive.region, command.at).class !== 'child' || draw() < 0.5)
      continue;
    const on = draw() < 0.4 ? 'human' : draw() < 0.6 ? 'time' : null;
    drive.feed({ type: 'blocked', at: command.at, atMs: drive.nowMs, on });
    return;
  }
}

/** Drives a run to its end, or for `most` events, in the order that `draw` decides. */
function follow(drive: Drive, draw: () => number, most = ENOUGH): void {
  for (let fed = 0; fed < most && !drive.end; fed++) {
    reportBlockedChildren(drive, draw);
    const keys = drive.wanted();
    expect(keys.length, 'no progress').toBeGreaterThan(0);
    drive.answer(keys[Math.floor(draw() * keys.length)] as string);
  }
}

/** Drives a run until its deadline fires. Returns its phase at that time; undefined if it had already ended. */
function followToDeadline(drive: Drive, draw: () => number): Drain['why'] | 'running' | undefined {
  for (let fed = 0; fed < 60 && !drive.end; fed++) {
    const { busy, timers, humans, deadline, drain } = drive.state;
    const isPaused = deadline?.activeOnly === true && busy + timers === 0 && humans > 0;
    expect(deadline?.dueMs === undefined, 'time does not advance').toBe(isPaused);
    if (deadline?.dueMs !== undefined && drive.nowMs >= deadline.dueMs) {
      drive.answer([...drive.open.keys()].find((key) => key.startsWith('deadline '))!);
      return drain?.why ?? 'running';
    }
    follow(drive, draw, 1);
  }
  return undefined;
}

async function inLockstep(scenario: Scenario): Promise<void> {
  const drive = new Drive(scenario);
  const world = new Waiting();
  const draw = numbers(scenario.order);
  const ending = reference(scenario.region, scenario.start, world, scenario.graceMs);
  drive.start();
  for (let fed = 0; fed < ENOUGH; fed++) {
    await untilSettled();
    expect([...world.open.keys()].sort()).toEqual(drive.wanted());
    if (drive.end) break;
    reportBlockedChildren(drive, draw);
    const keys = drive.wanted();
    const key = keys[Math.floor(draw() * keys.length)] as string;
    const { answer } = respond(scenario, drive.open.get(key)!, drive.nowMs);
    const resolve = world.open.get(key)!;
    world.open.delete(key);
    drive.answer(key);
    resolve(answer);
  }
  if (!drive.end) return;
  const { status, at } = drive.end;
  expect(await ending).toEqual({ status, ...(at && { at }) });
}

describe('the random runs', () => {
  it('cover every kind of event', () => {
    const seen = new Set<string>();
    for (const scenario of fc.sample(scenarios('wild'), { numRuns: 400, seed: 1 })) {
      const drive = new Drive(scenario);
      drive.start();
      follow(drive, numbers(scenario.order));
      for (const word of drive.seen) seen.add(word);
    }
    const expected = [
      ...['completed', 'failed', 'expanded', 'paused', 'resumed', 'blocked', 'collected', 'limit', 'handled'],
      ...['open to continue', 'continue'],
      ...['retry fired', 'wait fired', 'timeout fired', 'grace fired', 'another try', 'container handled'],
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
    expect(expected.filter((word) => !seen.has(word))).toEqual([]);
  });
});

describe('the machine', () => {
  it.each(['calm', 'stormy'] as const)(
    'R32 returns the same commands as the reference for each event, and ends the same (%s)',
    async (mood) => {
      await fc.assert(fc.asyncProperty(scenarios(mood), inLockstep), { numRuns: scale(40, 4000) });
    },
  );

  it('R32 does the same work in any order of completion when no failure ends the run', () => {
    fc.assert(
      fc.property(scenarios('calm'), fc.nat(), (scenario, other) => {
        const traces = [scenario.order, other].map((order) => {
          const drive = new Drive(scenario);
          drive.start();
          follow(drive, numbers(order), 5 * ENOUGH);
          return { trace: drive.trace.sort(), end: drive.end };
        });
        expect(traces[0]).toEqual(traces[1]);
      }),
      { numRuns: scale(25, 2000) },
    );
  });

  it.each(moods)('R30 ignores repeated, late and unexpected events (%s)', (mood) => {
    fc.assert(
      fc.property(scenarios(mood), (scenario) => {
        const drive = new Drive(scenario);
        const draw = numbers(scenario.order);
        drive.start();
        for (let fed = 0; fed < 60 && !drive.end; fed++) {
          follow(drive, draw, 1);
          for (const event of drive.past.slice(-3)) if (event.type !== 'blocked') drive.expectVoid(event);
          const event = drive.past[Math.floor(draw() * drive.past.length)]!;
          if (event.type === 'blocked' || event.type === 'started') continue;
          drive.expectVoid(event);
          const at = [Math.floor(draw() * 8), Math.floor(draw() * 4), Math.floor(draw() * 4)];
          if (!drive.open.has(`run ${at.join('.')} 7`))
            drive.expectVoid({ type: 'completed', at, atMs: drive.nowMs, attempt: 7 });
        }
      }),
      { numRuns: scale(25, 2000) },
    );
  });

  it.each(moods)(
    'R29 ends when it is cancelled at any point, and aborts each open work once (%s)',
    (mood) => {
      fc.assert(
        fc.property(scenarios(mood), fc.nat(40), (scenario, when) => {
          const drive = new Drive(scenario);
          drive.start();
          follow(drive, numbers(scenario.order), when);
          if (drive.end) return;
          drive.feed({ type: 'cancelled', atMs: drive.nowMs });
          expect(drive.end).toEqual({ type: 'end', status: 'cancelled' });
          for (const event of drive.past) drive.expectVoid(event);
        }),
        { numRuns: scale(25, 2000) },
      );
    },
  );

  it.each([false, true])('R26 ends by its deadline at any point (only active time: %s)', (activeOnly) => {
    fc.assert(
      fc.property(scenarios('wild'), fc.integer({ min: 1, max: 200 }), (scenario, timeoutMs) => {
        const drive = new Drive(scenario);
        drive.start({ timeoutMs, activeOnly });
        const was = followToDeadline(drive, numbers(scenario.order));
        if (was === undefined) return;
        const [status, reason] = {
          running: ['failed', 'deadline'],
          failed: ['failed', 'block'],
          answered: ['completed'],
          until: ['completed'],
        }[was] as [string, string?];
        expect(drive.end).toMatchObject({ status, ...(reason && { reason }) });
      }),
      { numRuns: scale(25, 2000) },
    );
  });

  it('R31 continues from any point like a run without a stop', () => {
    fc.assert(
      fc.property(scenarios('wild'), fc.nat(30), (scenario, when) => {
        const [one, two] = [new Drive(scenario), new Drive(scenario)];
        one.start();
        two.start();
        const [draw, same] = [numbers(scenario.order), numbers(scenario.order)];
        follow(one, draw, when);
        follow(two, same, when);
        // The second run discards its commands, and reads the pending commands from its state.
        expect([...two.open.keys()].sort()).toEqual([...one.open.keys()].sort());
        two.open.clear();
        if (!two.end)
          for (const command of pendingCommands(two.region, two.state) as Asked[])
            two.open.set(keyOf(command), command);
        follow(one, draw);
        follow(two, same);
        expect(two.trace).toEqual(one.trace);
        expect(two.end).toEqual(one.end);
      }),
      { numRuns: scale(25, 2000) },
    );
  });
});
