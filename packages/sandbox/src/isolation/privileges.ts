/**
 * Arguments of setpriv that take every privilege for good, and end the process with the host; the command follows.
 * `uid`: the user to become, or null; `isRoot`: whether the host is root, whose capabilities are to go.
 */
export function dropArguments(uid: number | null, isRoot: boolean): string[] {
  return [
    ...(uid === null ? [] : [`--reuid=${uid}`, `--regid=${uid}`, '--clear-groups']),
    ...(isRoot ? ['--bounding-set=-all', '--inh-caps=-all'] : []),
    '--no-new-privs',
    '--pdeathsig=KILL',
    '--',
  ];
}
