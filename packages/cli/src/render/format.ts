/** Returns a duration as text: `0 ms`, `1.2 s`, `3 min 20 s`, `2 h 5 min`, `3 d 4 h`. */
export function formatDuration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  // 59.96 s would round to "60.0 s".
  if (ms < 59_950) return `${(ms / 1000).toFixed(1)} s`;
  const seconds = Math.round(ms / 1000);
  if (seconds < 3600) return joinUnits([Math.floor(seconds / 60), 'min'], [seconds % 60, 's']);
  const minutes = Math.round(seconds / 60);
  if (minutes < 1440) return joinUnits([Math.floor(minutes / 60), 'h'], [minutes % 60, 'min']);
  const hours = Math.round(minutes / 60);
  return joinUnits([Math.floor(hours / 24), 'd'], [hours % 24, 'h']);
}

function joinUnits([first, firstUnit]: [number, string], [second, secondUnit]: [number, string]): string {
  return second === 0 ? `${first} ${firstUnit}` : `${first} ${firstUnit} ${second} ${secondUnit}`;
}

/** Returns text such as `1 block`, `2 blocks`, `3 branches`, `2 entries`. */
export function formatCount(count: number, noun: string): string {
  if (count === 1) return `1 ${noun}`;
  if (/[^aeiou]y$/.test(noun)) return `${count} ${noun.slice(0, -1)}ies`;
  return `${count} ${noun}${/(s|x|ch|sh)$/.test(noun) ? 'es' : 's'}`;
}

/** Returns an argument quoted for a POSIX shell. */
export function shellQuote(text: string): string {
  return /^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** Returns a time in the local time zone: `2026-03-09 14:05:11`. */
export function formatLocalTime(ms: number): string {
  const date = new Date(ms);
  const pad2 = (value: number): string => String(value).padStart(2, '0');
  const day = `${date.getFullYear()}-${pad2(date.getMonth() + 1)}-${pad2(date.getDate())}`;
  return `${day} ${pad2(date.getHours())}:${pad2(date.getMinutes())}:${pad2(date.getSeconds())}`;
}

/** Returns a local time, without the date if it is today. */
export function formatClockTime(ms: number, nowMs: number): string {
  const dateAndTime = formatLocalTime(ms);
  const [day = '', time = ''] = dateAndTime.split(' ');
  return formatLocalTime(nowMs).startsWith(day) ? time : dateAndTime;
}
