const DATE_FORMAT = new Intl.DateTimeFormat(undefined, {
  month: 'short',
  day: 'numeric',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  hourCycle: 'h23',
});

/** A time in the reader's time zone; UTC is shown on hover. */
export function Time({ iso }: { iso: string }) {
  return (
    <time dateTime={iso} title={`${iso.replace('T', ' ').replace(/(\.\d+)?Z$/, '')} UTC`}>
      {DATE_FORMAT.format(new Date(iso))}
    </time>
  );
}

/** Returns a duration as `12 ms`, `3.4 s`, `2 min 5 s` or `1 h 3 min`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  const totalSeconds = Math.round(seconds);
  if (totalSeconds < 3600) return `${Math.floor(totalSeconds / 60)} min ${totalSeconds % 60} s`;
  return `${Math.floor(totalSeconds / 3600)} h ${Math.floor((totalSeconds % 3600) / 60)} min`;
}

/** Returns a size as `512 B`, `3.4 KB` or `64 MB`. */
export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ['KB', 'MB', 'GB'];
  let value = bytes / 1024;
  let unitIndex = 0;
  while (value >= 1024 && unitIndex < units.length - 1) {
    value /= 1024;
    unitIndex += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unitIndex]}`;
}

/** Returns an amount of USD as `$0.0123` or `$1.20`. */
export function formatCost(usd: number): string {
  if (usd === 0) return '$0';
  return `$${usd < 1 ? usd.toFixed(4) : usd.toFixed(2)}`;
}
