/** Periods that end now. */
export const PERIODS: readonly { id: string; label: string; hours: number }[] = [
  { id: '1h', label: 'Last hour', hours: 1 },
  { id: '24h', label: 'Last 24 hours', hours: 24 },
  { id: '7d', label: 'Last 7 days', hours: 168 },
  { id: '30d', label: 'Last 30 days', hours: 720 },
];

/** Returns the start of a period, rounded down to a minute, so that the same filter is one cached query. */
export function periodStart(id: string): string {
  const hours = PERIODS.find((period) => period.id === id)?.hours ?? 24;
  const minuteMs = 60_000;
  return new Date(Math.floor(Date.now() / minuteMs) * minuteMs - hours * 60 * minuteMs).toISOString();
}
