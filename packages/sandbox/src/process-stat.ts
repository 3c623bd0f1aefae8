import { readFileSync } from 'node:fs';

/**
 * What `/proc/<pid>/stat` has in a field, counted from 1 as its manual does; the name in the second may hold anything. Null
 * where there is no such process.
 */
export function processStat(pid: number | string): ((field: number) => string) | null {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return null;
  }
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (field) => fields[field - 3] ?? '';
}
