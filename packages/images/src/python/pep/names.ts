/** Returns the normalized name: lower case, runs of `-`, `_` and `.` replaced with `-` (PEP 503). */
export function canonicalName(name: string): string {
  return name.toLowerCase().replaceAll(/[-_.]+/g, '-');
}

/** Returns the resolver's id of a distribution with extras: `name` or `name[a,b]`, all canonical. */
export function idWithExtras(name: string, extras: readonly string[]): string {
  return extras.length === 0 ? name : `${name}[${extras.join(',')}]`;
}
