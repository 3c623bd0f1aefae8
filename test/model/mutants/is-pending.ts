import { mutantsOf } from './mutant.ts';
import type { Mutant } from './mutant.ts';

/** Mutants of `isPending`. */
export const isPendingMutants: readonly Mutant[] = [
  ...mutantsOf('pending-commands.ts', [
    {
      from: 'nodeState.asking && nodeState.next === command.turn;',
      to: 'nodeState.next === command.turn;',
      effect: 'an answered expand command is still pending',
    },
    {
      from: 'nodeState.asking && nodeState.next === command.turn;',
      to: 'nodeState.asking;',
      effect: 'the expand command of an earlier iteration is pending again',
    },
    {
      from: " || work.w === 'blocked') && isSameAttempt(work, command)",
      to: ') && isSameAttempt(work, command)',
      effect: 'a blocked child is no longer pending',
    },
    {
      from: "work.w === 'blocked') && isSameAttempt(work, command)",
      to: "work.w === 'blocked')",
      effect: 'an earlier attempt is pending besides the current one',
    },
    {
      from: ' && a.resumes === b.resumes',
      to: '',
      effect: 'the command of an attempt from before an answer is still pending',
    },
    {
      from: "work.w === 'pause' && isSameAttempt(work, command)",
      to: "work.w === 'pause'",
      effect: 'a pause that was answered is pending with the next one',
    },
    {
      from: " && (work.w === 'wait' || work.try === command.try)",
      to: '',
      effect: 'the timeout of an earlier attempt is pending',
    },
    {
      from: "retry: 'retry', wait",
      to: "retry: 'wait', wait",
      effect: 'a pending retry waits for another timer',
    },
    {
      from: 'state.deadline?.dueMs === dueMs',
      to: 'state.deadline !== undefined',
      effect: 'the earlier timer of a moved deadline is still pending',
    },
    {
      from: 'state.drain?.dueMs === dueMs',
      to: 'false',
      effect: 'the grace timer of the run is never pending',
    },
    {
      from: 'frame?.drain?.dueMs === dueMs',
      to: 'frame?.drain === undefined',
      effect: 'the grace timer of a branch is pending even if it has none',
    },
  ]),
];
