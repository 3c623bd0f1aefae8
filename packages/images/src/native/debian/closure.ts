import { ImageError } from '../../error.ts';
import { satisfies, type PackageCatalogue, type DebianPackage } from './catalogue.ts';
import { formatRelation, type Alternatives, type Relation } from './control.ts';

/** Maximum number of packages in an image. */
const MAX_PACKAGES = 1_000;
/** Maximum number of search steps. */
const MAX_STEPS = 200_000;

/** A dependency, or a request of the specification. */
interface Requirement {
  readonly alternatives: Alternatives;
  /** The package that needs it; undefined for the specification. */
  readonly requiredBy?: DebianPackage;
}

type Selection = ReadonlyMap<string, DebianPackage>;

/** Parses `jq`, `jq:amd64` or `jq=1.6-2.1` as a relation. */
export function parseRequest(entry: string, architecture: string): Relation {
  const [, name = entry, arch, version] = /^([^:=]+)(?::([^=]+))?(?:=(.+))?$/.exec(entry) ?? [];
  if (arch !== undefined && arch !== architecture && arch !== 'all' && arch !== 'any')
    throw new ImageError(
      'incompatible_platform',
      `The system package ${entry} is for ${arch}, but images on this host are for ${architecture}.`,
    );
  return version === undefined ? { name } : { name, version: { operator: '=', value: version } };
}

/**
 * Finds packages that satisfy all requirements together: depth-first search with backtracking, preferred alternatives
 * first.
 */
class Search {
  readonly #catalogue: PackageCatalogue;
  readonly #assumedNames: ReadonlySet<string>;
  #steps = 0;
  /** The unsatisfied requirement at the greatest depth, which explains a conflict best. */
  #deepestFailure: { requirement: Requirement; depth: number; problem: string } | undefined;

  constructor(catalogue: PackageCatalogue, assumedNames: ReadonlySet<string>) {
    this.#catalogue = catalogue;
    this.#assumedNames = assumedNames;
  }

  run(requirements: readonly Requirement[]): Selection {
    const solution = this.#solve(requirements, new Map());
    if (solution !== undefined) return solution;
    const { requirement, problem } = this.#deepestFailure as { requirement: Requirement; problem: string };
    throw new ImageError('resolution_conflict', `${subjectOf(requirement)} ${problem}.`);
  }

  /**
   * Tries each candidate for the first requirement, then solves the remaining ones. Requirements with one candidate are
   * handled in a loop, without recursion.
   */
  #solve(requirements: readonly Requirement[], initialSelection: Selection): Selection | undefined {
    let selection = initialSelection;
    let pendingRequirements = requirements;
    for (;;) {
      const [requirement, ...remaining] = pendingRequirements;
      if (requirement === undefined) return selection;
      this.#countStep(selection);
      if (this.#isAssumed(requirement) || isSatisfied(requirement.alternatives, selection)) {
        pendingRequirements = remaining;
        continue;
      }
      const suitablePackages = this.#findSuitablePackages(requirement, selection);
      if (suitablePackages.length === 0) return undefined;
      const [onlyCandidate] = suitablePackages;
      if (suitablePackages.length === 1 && onlyCandidate !== undefined) {
        selection = new Map(selection).set(onlyCandidate.name, onlyCandidate);
        pendingRequirements = [...requirementsOf(onlyCandidate), ...remaining];
        continue;
      }
      for (const candidate of suitablePackages) {
        const nextSelection = new Map(selection).set(candidate.name, candidate);
        const solution = this.#solve([...requirementsOf(candidate), ...remaining], nextSelection);
        if (solution !== undefined) return solution;
      }
      return undefined;
    }
  }

  #isAssumed({ alternatives, requiredBy }: Requirement): boolean {
    return requiredBy !== undefined && alternatives.some(({ name }) => this.#assumedNames.has(name));
  }

  #countStep(selection: Selection): void {
    this.#steps++;
    if (selection.size > MAX_PACKAGES)
      throw new ImageError('image_too_large', `The system packages need more than ${MAX_PACKAGES} packages.`);
    if (this.#steps > MAX_STEPS)
      throw new ImageError(
        'resolution_conflict',
        'No compatible set of system packages was found within the step limit; request fewer packages, or exact versions.',
      );
  }

  #findSuitablePackages(requirement: Requirement, selection: Selection): DebianPackage[] {
    const candidates = requirement.alternatives.flatMap((relation) => this.#catalogue.candidates(relation));
    const suitablePackages: DebianPackage[] = [];
    let reason = `, which is in none of the archives`;
    for (const candidate of new Set(candidates)) {
      const conflict = conflictWith(candidate, selection);
      if (conflict === undefined) suitablePackages.push(candidate);
      else reason = `, and ${candidate.name} ${candidate.version} conflicts with ${conflict}`;
    }
    if (suitablePackages.length === 0 && selection.size >= (this.#deepestFailure?.depth ?? 0))
      this.#deepestFailure = {
        requirement,
        depth: selection.size,
        problem: `needs ${formatAlternatives(requirement.alternatives)}${reason}`,
      };
    return suitablePackages;
  }
}

const subjectOf = ({ requiredBy }: Requirement): string =>
  requiredBy === undefined ? 'The specification' : `${requiredBy.name} ${requiredBy.version}`;
const formatAlternatives = (alternatives: Alternatives): string =>
  alternatives.map(formatRelation).join(' or ');
const requirementsOf = (requiredBy: DebianPackage): Requirement[] =>
  requiredBy.dependencies.map((alternatives) => ({ alternatives, requiredBy }));

function isSatisfied(alternatives: Alternatives, selection: Selection): boolean {
  return alternatives.some((relation) => {
    const sameNamedPackage = selection.get(relation.name);
    if (sameNamedPackage !== undefined && satisfies(sameNamedPackage, relation)) return true;
    return [...selection.values()].some((selected) => satisfies(selected, relation));
  });
}

/** Returns name and version of a selected package that conflicts with a candidate, or undefined. */
function conflictWith(candidate: DebianPackage, selection: Selection): string | undefined {
  const sameNamedPackage = selection.get(candidate.name);
  if (sameNamedPackage !== undefined && sameNamedPackage.version !== candidate.version)
    return `${sameNamedPackage.name} ${sameNamedPackage.version}`;
  for (const other of selection.values()) {
    if (other.name === candidate.name) continue;
    const hasConflict =
      candidate.conflicts.some((relation) => satisfies(other, relation)) ||
      other.conflicts.some((relation) => satisfies(candidate, relation));
    if (hasConflict) return `${other.name} ${other.version}`;
  }
  return undefined;
}

/** Throws if a requested package or version does not exist, so that the message is specific. */
function checkRequest(relation: Relation, catalogue: PackageCatalogue): void {
  const { name, version } = relation;
  if (!catalogue.has(name))
    throw new ImageError('package_not_found', `There is no system package ${name} in the Debian archive.`);
  if (version === undefined || catalogue.candidates(relation).length > 0) return;
  const versions = catalogue.versions(name).map((candidate) => candidate.version);
  const availability =
    versions.length === 0 ? 'it is a virtual package' : `available: ${versions.join(', ')}`;
  throw new ImageError(
    'version_not_found',
    `There is no version ${version.value} of the system package ${name}; ${availability}.`,
  );
}

/**
 * Returns the requested packages with all their dependencies, ordered by name. A dependency on one of the packages in
 * `assumedNames` counts as satisfied.
 * @throws ImageError package_not_found, version_not_found, resolution_conflict, image_too_large.
 */
export function closureOf(
  requests: readonly Relation[],
  catalogue: PackageCatalogue,
  assumedNames: ReadonlySet<string> = new Set(),
): DebianPackage[] {
  for (const relation of requests) checkRequest(relation, catalogue);
  const requirements = requests.map((relation): Requirement => ({ alternatives: [relation] }));
  // Exact versions first, because their dependencies limit the other choices.
  requirements.sort(
    (a, b) =>
      Number(b.alternatives[0]?.version !== undefined) - Number(a.alternatives[0]?.version !== undefined),
  );
  const selection = new Search(catalogue, assumedNames).run(requirements);
  return [...selection.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}
