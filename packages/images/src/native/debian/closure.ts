import { ImageError } from '../../error.ts';
import { satisfies, type PackageCatalogue, type DebianPackage } from './catalogue.ts';
import { relationText, type Alternatives, type Relation } from './control.ts';

/** Maximum number of packages in an image. */
const MAX_PACKAGES = 1_000;
/** Maximum number of search steps. */
const MAX_STEPS = 200_000;

/** A dependency, or a request of the specification. */
interface Need {
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
 * Finds packages that satisfy all needs together: depth-first search with backtracking, preferred alternatives first.
 */
class Search {
  readonly #catalogue: PackageCatalogue;
  readonly #assumed: ReadonlySet<string>;
  #steps = 0;
  /** The unmet need at the greatest depth, which explains a conflict best. */
  #deepest: { need: Need; depth: number; problem: string } | undefined;

  constructor(catalogue: PackageCatalogue, assumed: ReadonlySet<string>) {
    this.#catalogue = catalogue;
    this.#assumed = assumed;
  }

  run(needs: readonly Need[]): Selection {
    const solution = this.#solve(needs, new Map());
    if (solution !== undefined) return solution;
    const { need, problem } = this.#deepest as { need: Need; problem: string };
    throw new ImageError('resolution_conflict', `${subjectOf(need)} ${problem}.`);
  }

  /**
   * Tries each candidate for the first need, then solves the remaining needs. Needs with only one candidate are handled
   * in a loop, without recursion.
   */
  #solve(needs: readonly Need[], initial: Selection): Selection | undefined {
    let chosen = initial;
    let pending = needs;
    for (;;) {
      const [need, ...remaining] = pending;
      if (need === undefined) return chosen;
      this.#countStep(chosen);
      if (this.#isAssumed(need) || isMet(need.alternatives, chosen)) {
        pending = remaining;
        continue;
      }
      const suitable = this.#suitableFor(need, chosen);
      if (suitable.length === 0) return undefined;
      const [single] = suitable;
      if (suitable.length === 1 && single !== undefined) {
        chosen = new Map(chosen).set(single.name, single);
        pending = [...needsOf(single), ...remaining];
        continue;
      }
      for (const candidate of suitable) {
        const next = new Map(chosen).set(candidate.name, candidate);
        const solution = this.#solve([...needsOf(candidate), ...remaining], next);
        if (solution !== undefined) return solution;
      }
      return undefined;
    }
  }

  #isAssumed({ alternatives, requiredBy }: Need): boolean {
    return requiredBy !== undefined && alternatives.some(({ name }) => this.#assumed.has(name));
  }

  #countStep(chosen: Selection): void {
    this.#steps++;
    if (chosen.size > MAX_PACKAGES)
      throw new ImageError('image_too_large', `The system packages need more than ${MAX_PACKAGES} packages.`);
    if (this.#steps > MAX_STEPS)
      throw new ImageError(
        'resolution_conflict',
        'No compatible set of system packages was found within the limit of steps; request fewer packages, or exact versions.',
      );
  }

  #suitableFor(need: Need, chosen: Selection): DebianPackage[] {
    const candidates = need.alternatives.flatMap((relation) => this.#catalogue.candidates(relation));
    const suitable: DebianPackage[] = [];
    let reason = `, which is in none of the archives`;
    for (const candidate of new Set(candidates)) {
      const conflict = conflictWith(candidate, chosen);
      if (conflict === undefined) suitable.push(candidate);
      else reason = `, and ${candidate.name} ${candidate.version} conflicts with ${conflict}`;
    }
    if (suitable.length === 0 && chosen.size >= (this.#deepest?.depth ?? 0))
      this.#deepest = {
        need,
        depth: chosen.size,
        problem: `needs ${alternativesText(need.alternatives)}${reason}`,
      };
    return suitable;
  }
}

const subjectOf = ({ requiredBy }: Need): string =>
  requiredBy === undefined ? 'The specification' : `${requiredBy.name} ${requiredBy.version}`;
const alternativesText = (alternatives: Alternatives): string => alternatives.map(relationText).join(' or ');
const needsOf = (requiredBy: DebianPackage): Need[] =>
  requiredBy.needs.map((alternatives) => ({ alternatives, requiredBy }));

function isMet(alternatives: Alternatives, chosen: Selection): boolean {
  return alternatives.some((relation) => {
    const sameName = chosen.get(relation.name);
    if (sameName !== undefined && satisfies(sameName, relation)) return true;
    return [...chosen.values()].some((each) => satisfies(each, relation));
  });
}

/** Returns name and version of a chosen package that conflicts with a candidate, or undefined. */
function conflictWith(candidate: DebianPackage, chosen: Selection): string | undefined {
  const same = chosen.get(candidate.name);
  if (same !== undefined && same.version !== candidate.version) return `${same.name} ${same.version}`;
  for (const other of chosen.values()) {
    if (other.name === candidate.name) continue;
    const conflicts =
      candidate.conflicts.some((relation) => satisfies(other, relation)) ||
      other.conflicts.some((relation) => satisfies(candidate, relation));
    if (conflicts) return `${other.name} ${other.version}`;
  }
  return undefined;
}

/** Throws if a requested package or version does not exist, so that the message is specific. */
function checkRequest(relation: Relation, catalogue: PackageCatalogue): void {
  const { name, version } = relation;
  if (!catalogue.has(name))
    throw new ImageError('package_not_found', `There is no system package ${name} in the Debian archive.`);
  if (version === undefined || catalogue.candidates(relation).length > 0) return;
  const versions = catalogue.versions(name).map((each) => each.version);
  const availability =
    versions.length === 0 ? 'it is a virtual package' : `available: ${versions.join(', ')}`;
  throw new ImageError(
    'version_not_found',
    `There is no version ${version.value} of the system package ${name}; ${availability}.`,
  );
}

/**
 * Returns the requested packages with all their dependencies, ordered by name. A dependency on one of the `assumed`
 * packages counts as met.
 * @throws ImageError package_not_found, version_not_found, resolution_conflict, image_too_large.
 */
export function closureOf(
  requests: readonly Relation[],
  catalogue: PackageCatalogue,
  assumed: ReadonlySet<string> = new Set(),
): DebianPackage[] {
  for (const relation of requests) checkRequest(relation, catalogue);
  const needs = requests.map((relation): Need => ({ alternatives: [relation] }));
  // Exact versions first, because their dependencies limit the other choices.
  needs.sort(
    (a, b) =>
      Number(b.alternatives[0]?.version !== undefined) - Number(a.alternatives[0]?.version !== undefined),
  );
  const chosen = new Search(catalogue, assumed).run(needs);
  return [...chosen.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}
