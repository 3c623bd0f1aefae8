import { pendingCommands, idleState } from '@heddle/core/machine';
import type { Command, IdleState } from '@heddle/core/machine';
import type { Carried } from '../messages.ts';
import { budgetOf } from './budget.ts';
import type { DriverParts } from './driver-parts.ts';

/** Characters of news that may go out with the activities of one turn of the loop; more is written down first. */
const MOST_TOLD = 65_536;

/**
 * The event loop of a run: feeds what happens to the machine and has carried out what follows. There are no rules here.
 *
 * Returns what the run takes along when its history is long enough, undefined when it has ended.
 */
export async function drive(parts: DriverParts): Promise<Carried | undefined> {
  const { course, inbox, work } = parts;
  let commands = beginning(parts);
  let told: IdleState = 'running';
  for (;;) {
    if (inbox.fault !== undefined) throw inbox.fault;
    commands = commands.concat(takeIn(parts)).filter((command) => course.stands(command));
    const rest = idleState(course.state);
    // Who looks at a run that rests sees what it waits for.
    if (rest !== 'running') await parts.settle();
    if (rest !== told) parts.rested((told = rest));
    if (course.end) return undefined;
    const budget = budgetOf(parts.input.profile, work.spent);
    if (budget !== 'left' && work.idle && parts.quiet()) {
      await parts.settle();
      return course.carried();
    }
    await carryOut(parts, budget === 'gone' ? commands.filter(isNoWork) : commands);
    commands = [];
    await inbox.filled();
  }
}

/** Has `commands` carried out, and the news written down: by what is launched, or here. */
async function carryOut({ course, work, settle }: DriverParts, commands: readonly Command[]): Promise<void> {
  // Each activity is told of all that is not written yet.
  if (course.weight * commands.length > MOST_TOLD) await settle();
  const { begun } = work;
  work.perform(commands);
  if (course.behind && work.begun === begun) await settle();
}

/** Work that is not begun now is owed still: the next run finds it in the state. */
function isNoWork({ type }: Command): boolean {
  return type !== 'run' && type !== 'expand';
}

function beginning({ input, course }: DriverParts): Command[] {
  const { begin } = input;
  return 'started' in begin ? course.begin(begin.started) : pendingCommands(course.skeleton, course.state);
}

/** What is owed for what has come in. */
function takeIn({ course, inbox, work }: DriverParts): Command[] {
  const commands: Command[] = [];
  for (const { happened, again = [], long, told } of inbox.take()) {
    const fed = happened ? course.feed(happened) : { commands: [], seq: 0 };
    told?.(fed.seq);
    const left = again.filter((command) => course.owes(command));
    const next = fed.commands.concat(left);
    if (long) work.takesLong(next);
    for (const command of next) commands.push(command);
  }
  return commands;
}
