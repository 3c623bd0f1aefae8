/** Exit codes. Scripts can tell a failed run from a run that never started. */
export const EXIT = {
  completed: 0,
  failed: 1,
  /** Invalid workflow or wrong usage: nothing ran. */
  invalid: 2,
  /** The run waits for a person. */
  paused: 3,
  cancelled: 4,
  /** Killed by a second Ctrl-C: 128 + SIGINT, as in a shell. */
  killed: 130,
} as const;

/** Returns the exit code for the status of a run. */
export function exitCodeOf(status: string): number {
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
