import { readFileSync } from 'node:fs';

/**
 * Returns a function that returns a field of `/proc/<pid>/stat` by its number in proc(5), or undefined if the process
 * does not exist. Only fields from 3 on: field 2 is the name of the process, which may contain any characters.
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
