/** Operators of version conditions. */
export type VersionOperator = '<<' | '<=' | '=' | '>=' | '>>';

interface VersionParts {
  readonly epoch: number;
  readonly upstream: string;
  readonly revision: string;
}

function parseVersion(version: string): VersionParts {
  const colon = version.indexOf(':');
  const withoutEpoch = version.slice(colon + 1);
  const dash = withoutEpoch.lastIndexOf('-');
  return {
    epoch: colon < 0 ? 0 : Number(version.slice(0, colon)),
    upstream: dash < 0 ? withoutEpoch : withoutEpoch.slice(0, dash),
    revision: dash < 0 ? '' : withoutEpoch.slice(dash + 1),
  };
}

/** Returns the sort order of a character: tilde, then end of string or digit, then letters, then others. */
function orderOf(char: string | undefined): number {
  if (char === undefined || /\d/.test(char)) return 0;
  if (char === '~') return -1;
  return /[A-Za-z]/.test(char) ? char.charCodeAt(0) : char.charCodeAt(0) + 256;
}

/** Compares alternating non-numeric and numeric parts (Debian Policy 5.6.12). */
function compareStrings(a: string, b: string): number {
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    while ((i < a.length && !/\d/.test(a[i] as string)) || (j < b.length && !/\d/.test(b[j] as string))) {
      const difference = orderOf(a[i]) - orderOf(b[j]);
      if (difference !== 0) return difference;
      i++;
      j++;
    }
    const [first] = /^\d*/.exec(a.slice(i)) as RegExpExecArray;
    const [second] = /^\d*/.exec(b.slice(j)) as RegExpExecArray;
    const difference = BigInt(first) - BigInt(second);
    if (difference !== 0n) return difference < 0n ? -1 : 1;
    i += first.length;
    j += second.length;
  }
  return 0;
}

/** Compares versions: negative if `a` is older than `b`, positive if newer (Debian Policy 5.6.12). */
export function compareVersions(a: string, b: string): number {
  const [first, second] = [parseVersion(a), parseVersion(b)];
  return (
    first.epoch - second.epoch ||
    compareStrings(first.upstream, second.upstream) ||
    compareStrings(first.revision, second.revision)
  );
}

/** Returns whether `version` satisfies the condition `operator other`, for example `>= 1.2`. */
export function satisfiesVersionCondition(
  version: string,
  operator: VersionOperator,
  other: string,
): boolean {
  const order = compareVersions(version, other);
  if (operator === '<<') return order < 0;
  if (operator === '<=') return order <= 0;
  if (operator === '=') return order === 0;
  return operator === '>=' ? order >= 0 : order > 0;
}
