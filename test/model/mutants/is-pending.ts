import { faultsIn } from './mutant.ts';
import type { Mutant } from './mutant.ts';

/** Faults in what is said of one command: whether it waits for its answer. */
export const isPending: readonly Mutant[] = [
  ...faultsIn('is-pending.ts', [
    {
      from: 'cell.asking && cell.next === command.turn;',
      to: 'cell.next === command.turn;',
      why: 'a question that was answered is owed still',
    },
    {
      from: 'cell.asking && cell.next === command.turn;',
      to: 'cell.asking;',
      why: 'a question of an earlier turn is owed again',
    },
    {
      from: " || work.w === 'blocked') && work.try === command.try",
      to: ') && work.try === command.try',
      why: 'a child that is blocked is owed no more',
    },
    {
      from: "work.w === 'blocked') && work.try === command.try",
      to: "work.w === 'blocked')",
      why: 'an earlier try is owed with the present one',
    },
    {
      from: " && (work.w === 'wait' || work.try === command.try)",
      to: '',
      why: 'the time-out of an earlier try is owed',
    },
    { from: "retry: 'retry', wait", to: "retry: 'wait', wait", why: 'the next try waits for another timer' },
    {
      from: 'state.deadline?.dueMs === dueMs',
      to: 'state.deadline !== undefined',
      why: 'a deadline that was moved is owed',
    },
    {
      from: 'state.drain?.dueMs === dueMs',
      to: 'false',
      why: 'the grace of the run is owed to nobody',
    },
    {
      from: 'frame.drain?.dueMs === dueMs',
      to: 'frame.drain === undefined',
      why: 'the grace of a branch is owed where there is none',
    },
  ]),
];
