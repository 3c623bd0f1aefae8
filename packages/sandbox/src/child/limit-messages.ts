/** Messages for jobs that exceed a limit. */
export const LIMIT_MESSAGES = {
  TIMEOUT_CPU: (ms: number) => `The code ran for more than its ${ms} ms of CPU time.`,
  TIMEOUT_WALL: (ms: number) => `The code did not finish within ${ms} ms.`,
  OUT_OF_MEMORY: (mib: number) => `The code needs more than its ${mib} MiB of memory.`,
};
