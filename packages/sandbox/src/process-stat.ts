import { readFileSync } from 'node:fs';

/**
 * Reads `/proc/<pid>/stat`. Returns a function that returns a field by its number in proc(5), from 3 on: field 2 is the
 * name of the process, which may contain any characters. Returns undefined if the process does not exist.
 */
export function readProcessStat(pid: number | string): ((fieldNumber: number) => string) | undefined {
  let text: string;
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  } catch {
    return undefined;
  }
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (fieldNumber) => fields[fieldNumber - 3] ?? '';
}
