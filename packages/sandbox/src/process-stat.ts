import { readFileSync } from 'node:fs';

/**
 * Reads `/proc/<pid>/stat`; undefined if the process does not exist. The returned function returns a field by its
 * number in proc(5), from 3 on: the second field is the name of the process, which may contain any characters.
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
