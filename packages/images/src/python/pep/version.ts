import { compare, explain, type Pep440Version } from '@renovatebot/pep440';

/** A clause of a version specifier: `>=1.2`, `==1.*`, `===anything`. */
interface Clause {
  readonly operator: string;
  readonly text: string;
  /** Absent for `===`, which compares text. */
  readonly version?: Pep440Version;
  /** True if the version ends in `.*`. */
  readonly isPrefix: boolean;
}

/** A parsed version specifier (PEP 440); all clauses must hold. */
export interface Specifier {
  readonly text: string;
  readonly clauses: readonly Clause[];
}

const CLAUSE = /^(===|~=|==|!=|<=|>=|<|>)\s*([^\s,;()]+)$/;

/** Parses a specifier; undefined if invalid. An empty string allows every version. */
export function parseSpecifier(text: string): Specifier | undefined {
  const clauseTexts = text.split(',').map((clauseText) => clauseText.trim());
  if (clauseTexts.length === 1 && clauseTexts[0] === '') return { text: '', clauses: [] };
  // A trailing comma is legal and occurs in practice.
  if (clauseTexts.at(-1) === '') clauseTexts.pop();
  const clauses = clauseTexts.map(parseClause);
  if (clauses.some((clause) => clause === undefined)) return undefined;
  const validClauses = clauses.filter((clause) => clause !== undefined);
  return {
    text: validClauses.map(({ operator, text: version }) => operator + version).join(','),
    clauses: validClauses,
  };
}

function parseClause(clauseText: string): Clause | undefined {
  const [, operator, text] = CLAUSE.exec(clauseText) ?? [];
  if (operator === undefined || text === undefined) return undefined;
  if (operator === '===') return { operator, text, isPrefix: false };
  const isPrefix = text.endsWith('.*');
  const version = explain(isPrefix ? text.slice(0, -2) : text);
  if (!version || !isValidClause(operator, isPrefix, version)) return undefined;
  return { operator, text, version, isPrefix };
}

function isValidClause(operator: string, isPrefix: boolean, version: Pep440Version): boolean {
  const isEquality = operator === '==' || operator === '!=';
  if (isPrefix && (!isEquality || !isFinalRelease(version))) return false;
  if (version.local !== null && !isEquality) return false;
  return operator !== '~=' || version.release.length > 1;
}

/** Returns whether a version is a final release without a local label. */
function isFinalRelease({ is_prerelease, is_postrelease, local }: Pep440Version): boolean {
  return !is_prerelease && !is_postrelease && local === null;
}

/**
 * Returns whether the version satisfies every clause. Pre-releases are treated like other versions here; the resolver
 * decides when they are candidates. Follows PEP 440 exactly; @renovatebot/pep440 parses and orders versions.
 */
export function satisfiesSpecifier(version: string, specifier: Specifier): boolean {
  if (specifier.clauses.length === 0) return true;
  const candidate = explain(version);
  return specifier.clauses.every((clause) => satisfiesClause(version, candidate, clause));
}

/** Returns whether a clause other than `!=` and `<` names a pre-release, which makes all pre-releases candidates. */
export function allowsPreReleases(specifier: Specifier): boolean {
  return specifier.clauses.some(
    ({ operator, version, text }) =>
      operator !== '!=' && operator !== '<' && (version ?? explain(text))?.is_prerelease === true,
  );
}

/** Returns whether a clause pins exactly this version, which allows a yanked release (PEP 592). */
export function pinsVersion(specifier: Specifier, version: string): boolean {
  return specifier.clauses.some(
    (clause) =>
      (clause.operator === '===' || (clause.operator === '==' && !clause.isPrefix)) &&
      satisfiesClause(version, explain(version), clause),
  );
}

function satisfiesClause(text: string, candidate: Pep440Version | null, clause: Clause): boolean {
  if (clause.operator === '===') return text.toLowerCase() === clause.text.toLowerCase();
  const { version } = clause;
  if (!candidate || !version) return false;
  if (clause.isPrefix) return isSameSeries(candidate, version) === (clause.operator === '==');
  switch (clause.operator) {
    case '==':
      return equals(candidate, version);
    case '!=':
      return !equals(candidate, version);
    case '<=':
      return compare(candidate.public, version.public) <= 0;
    case '>=':
      return compare(candidate.public, version.public) >= 0;
    case '<':
      return isBelow(candidate, version);
    case '>':
      return isAbove(candidate, version);
    default:
      return isCompatible(candidate, version);
  }
}

/** A local label of the candidate is compared only if the clause has one. */
function equals(candidate: Pep440Version, version: Pep440Version): boolean {
  if (compare(candidate.public, version.public) !== 0) return false;
  return version.local === null || version.local === candidate.local;
}

/** `<V` excludes pre-releases of V, unless V itself is a pre- or post-release. */
function isBelow(candidate: Pep440Version, version: Pep440Version): boolean {
  if (compare(candidate.public, version.public) >= 0) return false;
  return !isFinalRelease(version) || !candidate.is_prerelease || !isSameRelease(candidate, version);
}

/** `>V` excludes post-releases of V, unless V itself is a pre- or post-release, and excludes V with a local label. */
function isAbove(candidate: Pep440Version, version: Pep440Version): boolean {
  if (compare(candidate.public, version.public) <= 0) return false;
  return !isFinalRelease(version) || !candidate.is_postrelease || !isSameRelease(candidate, version);
}

/** `~=1.4.5` means `>=1.4.5,==1.4.*`. */
function isCompatible(candidate: Pep440Version, version: Pep440Version): boolean {
  const series = { ...version, release: version.release.slice(0, -1) };
  return compare(candidate.public, version.public) >= 0 && isSameSeries(candidate, series);
}

function isSameRelease(a: Pep440Version, b: Pep440Version): boolean {
  return compare(a.base_version, b.base_version) === 0;
}

/** `==V.*`: missing parts of the candidate count as zero. */
function isSameSeries(candidate: Pep440Version, { epoch, release }: Pep440Version): boolean {
  return candidate.epoch === epoch && release.every((part, i) => (candidate.release[i] ?? 0) === part);
}

/** Compares versions for sorting: newest first, invalid ones last. */
export function compareNewestFirst(a: string, b: string): number {
  const [left, right] = [explain(a), explain(b)];
  if (!left || !right) return Number(left === null) - Number(right === null);
  return compare(b, a);
}

/** Returns whether the text is a version (PEP 440). */
export function isVersion(text: string): boolean {
  return explain(text) !== null;
}

/** Returns whether the version is an alpha, beta, release candidate or development release. */
export function isPreRelease(version: string): boolean {
  return explain(version)?.is_prerelease ?? false;
}

/** Returns whether two strings denote the same version. */
export function isSameVersion(a: string, b: string): boolean {
  const [left, right] = [explain(a), explain(b)];
  return left && right ? compare(a, b) === 0 : a === b;
}
