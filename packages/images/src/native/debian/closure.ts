import { ImageError } from '../../error.ts';
import { satisfies, type Catalogue, type DebianPackage } from './catalogue.ts';
import { relationText, type Alternatives, type Relation } from './control.ts';

/** More packages than any image of ours has. */
const MAX_PACKAGES = 1_000;
/** More steps mean that there is no end in sight. */
const MAX_STEPS = 200_000;

interface Need {
  readonly alternatives: Alternatives;
  /** The package that needs it; null: the spec. */
  readonly by: DebianPackage | null;
}

type Chosen = ReadonlyMap<string, DebianPackage>;

/** `jq`, `jq:amd64` or `jq=1.6-2.1` as a relation. */
export function wantedOf(entry: string, architecture: string): Relation {
  const [, name = entry, arch, version] = /^([^:=]+)(?::([^=]+))?(?:=(.+))?$/.exec(entry) ?? [];
  if (arch !== undefined && arch !== architecture && arch !== 'all' && arch !== 'any')
    throw new ImageError(
      'incompatible_platform',
      `The system package ${entry} is for ${arch}, and images of this host are for ${architecture}.`,
    );
  return version === undefined ? { name } : { name, version: { operator: '=', than: version } };
}

/** Finds packages that fulfil all needs together: depth first, the preferred alternative first, back where one does not fit. */
class Search {
  readonly #catalogue: Catalogue;
  readonly #assumed: ReadonlySet<string>;
  #steps = 0;
  /** The need that could be met the least far down: what a person wants to hear of. */
  #deepest: { need: Need; depth: number; why: string } | null = null;

  constructor(catalogue: Catalogue, assumed: ReadonlySet<string>) {
    this.#catalogue = catalogue;
    this.#assumed = assumed;
  }

  run(needs: readonly Need[]): Chosen {
    const found = this.#solve(needs, new Map());
    if (found !== null) return found;
    const { need, why } = this.#deepest as { need: Need; why: string };
    throw new ImageError('resolution_conflict', `${subject(need)} ${why}.`);
  }

  /** The first need is met by each candidate in turn, the rest of the needs behind it; a loop where there is no choice. */
  #solve(needs: readonly Need[], before: Chosen): Chosen | null {
    let chosen = before;
    let open = needs;
    for (;;) {
      const [need, ...rest] = open;
      if (need === undefined) return chosen;
      this.#count(chosen);
      if (this.#isAssumed(need) || isMet(need.alternatives, chosen)) {
        open = rest;
        continue;
      }
      const fitting = this.#fitting(need, chosen);
      if (fitting.length === 0) return null;
      const [only] = fitting;
      if (fitting.length === 1 && only !== undefined) {
        chosen = new Map(chosen).set(only.name, only);
        open = [...needsOf(only), ...rest];
        continue;
      }
      for (const candidate of fitting) {
        const next = new Map(chosen).set(candidate.name, candidate);
        const found = this.#solve([...needsOf(candidate), ...rest], next);
        if (found !== null) return found;
      }
      return null;
    }
  }

  #isAssumed({ alternatives, by }: Need): boolean {
    return by !== null && alternatives.some(({ name }) => this.#assumed.has(name));
  }

  #count(chosen: Chosen): void {
    this.#steps++;
    if (chosen.size > MAX_PACKAGES)
      throw new ImageError('image_too_large', `The system packages need more than ${MAX_PACKAGES} others.`);
    if (this.#steps > MAX_STEPS)
      throw new ImageError(
        'resolution_conflict',
        'No system packages that go together were found within reasonable time; name fewer, or exact versions.',
      );
  }

  #fitting(need: Need, chosen: Chosen): DebianPackage[] {
    const candidates = need.alternatives.flatMap((relation) => this.#catalogue.candidates(relation));
    const fitting: DebianPackage[] = [];
    let why = `, which is in none of the archives`;
    for (const candidate of new Set(candidates)) {
      const obstacle = obstacleTo(candidate, chosen);
      if (obstacle === null) fitting.push(candidate);
      else why = `, and ${candidate.name} ${candidate.version} does not go with ${obstacle}`;
    }
    if (fitting.length === 0 && chosen.size >= (this.#deepest?.depth ?? 0))
      this.#deepest = { need, depth: chosen.size, why: `needs ${asked(need.alternatives)}${why}` };
    return fitting;
  }
}

const subject = ({ by }: Need): string => (by === null ? 'The spec' : `${by.name} ${by.version}`);
const asked = (alternatives: Alternatives): string => alternatives.map(relationText).join(' or ');
const needsOf = (by: DebianPackage): Need[] => by.needs.map((alternatives) => ({ alternatives, by }));

function isMet(alternatives: Alternatives, chosen: Chosen): boolean {
  return alternatives.some((relation) => {
    const own = chosen.get(relation.name);
    if (own !== undefined && satisfies(own, relation)) return true;
    return [...chosen.values()].some((each) => satisfies(each, relation));
  });
}

/** The chosen package that a candidate cannot be together with, or null. */
function obstacleTo(candidate: DebianPackage, chosen: Chosen): string | null {
  const same = chosen.get(candidate.name);
  if (same !== undefined && same.version !== candidate.version) return `${same.name} ${same.version}`;
  for (const other of chosen.values()) {
    if (other.name === candidate.name) continue;
    const refused =
      candidate.refuses.some((relation) => satisfies(other, relation)) ||
      other.refuses.some((relation) => satisfies(candidate, relation));
    if (refused) return `${other.name} ${other.version}`;
  }
  return null;
}

/** Throws where what the spec itself names is not there at all: the two mistakes that authors make. */
function checkWanted(relation: Relation, catalogue: Catalogue): void {
  const { name, version } = relation;
  if (!catalogue.has(name))
    throw new ImageError('package_not_found', `There is no system package ${name} in the Debian archive.`);
  if (version === undefined || catalogue.candidates(relation).length > 0) return;
  const there = catalogue.versions(name).map((each) => each.version);
  const offered =
    there.length === 0 ? 'it is a name that other packages provide' : `there is ${there.join(', ')}`;
  throw new ImageError(
    'version_not_found',
    `There is no version ${version.than} of the system package ${name}; ${offered}.`,
  );
}

/**
 * The packages that fulfil what is wanted, with everything that they need, in order of their names. What is `assumed` is not
 * taken for the sake of others.
 * @throws ImageError package_not_found, version_not_found, resolution_conflict, image_too_large.
 */
export function closureOf(
  wanted: readonly Relation[],
  catalogue: Catalogue,
  assumed: ReadonlySet<string> = new Set(),
): DebianPackage[] {
  for (const relation of wanted) checkWanted(relation, catalogue);
  const needs = wanted.map((relation): Need => ({ alternatives: [relation], by: null }));
  // Exact versions first: what they need decides the rest.
  needs.sort(
    (a, b) =>
      Number(b.alternatives[0]?.version !== undefined) - Number(a.alternatives[0]?.version !== undefined),
  );
  const chosen = new Search(catalogue, assumed).run(needs);
  return [...chosen.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
}
