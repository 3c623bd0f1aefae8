/** What the process's exit code says. A script can tell a failed run from a definition that never ran. */
export const EXIT = {
  completed: 0,
  failed: 1,
  /** The definition is invalid, or the command was used wrongly: nothing ran. */
  invalid: 2,
  /** A person is needed before the run can go on. */
  paused: 3,
  cancelled: 4,
  /** Killed by a second Ctrl-C, as a shell would say it (128 + SIGINT). */
  killed: 130,
} as const;

/** The exit code that tells how a run stands. */
export function exitOf(status: string): number {
  switch (status) {
    case 'completed':
      return EXIT.completed;
    case 'failed':
      return EXIT.failed;
    case 'cancelled':
      return EXIT.cancelled;
    default:
      return EXIT.paused;
  }
}
