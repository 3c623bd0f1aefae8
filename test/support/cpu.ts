/**
 * Returns the CPU time that `work` takes in this thread, in milliseconds. On a busy machine it stays the same, unlike
 * the time on a clock.
 */
export function measureCpuMs(work: () => void): number {
  const start = process.threadCpuUsage();
  work();
  const { user, system } = process.threadCpuUsage(start);
  return (user + system) / 1000;
}
