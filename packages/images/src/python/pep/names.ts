/** The name in the form in which names are equal: lower case, runs of `-`, `_` and `.` as one `-` (PEP 503). */
export function canonicalName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_.]+/g, '-');
}

/** How the resolver calls a distribution with or without extras: `name` or `name[a,b]`, all canonical. */
export function withExtras(name: string, extras: readonly string[]): string {
  return extras.length === 0 ? name : `${name}[${extras.join(',')}]`;
}
