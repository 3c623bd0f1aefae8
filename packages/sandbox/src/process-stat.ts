import { readFileSync } from 'node:fs';

/**
 * Returns a reader for the fields of `/proc/<pid>/stat`, numbered from 1 as in proc(5), or undefined if the process
 * does not exist. The second field (the name) may contain any characters.
 */
export function processStat(pid: number | string): ((field: number) => string) | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (field) => fields[field - 3] ?? '';
}
