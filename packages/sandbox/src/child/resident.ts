/** What the process has in memory, in MiB; without /proc, as in strict isolation, the most that it ever had. */
export function residentMiB(): number {
  try {
    return process.memoryUsage.rss() / 2 ** 20;
  } catch {
    return process.resourceUsage().maxRSS / 1024;
  }
}
