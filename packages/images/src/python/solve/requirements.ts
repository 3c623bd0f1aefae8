import { evaluateMarker } from '../pep/marker.ts';
import type { Metadata } from '../pep/metadata.ts';
import { idWithExtras } from '../pep/names.ts';
import { parseRequirement, type Requirement } from '../pep/requirement.ts';
import { satisfiesSpecifier, parseSpecifier, type Specifier } from '../pep/version.ts';
import type { Target } from '../pep/target.ts';
import type { Candidate, ReleaseCatalogue, ProjectReleases, RefusedRelease } from './catalogue.ts';
import { setOf } from './sets.ts';
import type { Problem, Rule } from './solver.ts';

/** Why a requirement cannot be met, regardless of the other choices. */
export type Obstacle =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'no-version'; readonly newestVersion: string | undefined }
  | { readonly kind: 'refused'; readonly refusedReleases: readonly RefusedRelease[] }
  | { readonly kind: 'url' }
  | { readonly kind: 'python'; readonly pythonRange: string }
  | { readonly kind: 'malformed' };

/** A requirement as a fact in the solver's proofs. */
export interface RequirementFact {
  /** The release that requires it; absent for the author's own requirements. */
  readonly dependent?: { readonly name: string; readonly version: string };
  /** Canonical name of the required project, and the original requirement. */
  readonly name: string;
  readonly text: string;
  readonly obstacle?: Obstacle;
}

/**
 * Thrown if a requirement admits releases that were excluded before, so that earlier conclusions are invalid. The
 * catalogue keeps them admitted, so a restart does not end here again.
 */
export class ReleasesChangedError extends Error {}

/**
 * Thrown if release after release of a project has a dependency that cannot be met. Continuing would silently choose a
 * release that is years old and happens to have no such dependency.
 */
export class TooManyBlockedReleasesError extends Error {
  readonly facts: readonly RequirementFact[];

  constructor(facts: readonly RequirementFact[]) {
    super('Too many releases have dependencies that cannot be met.');
    this.facts = facts;
  }
}

/** Maximum number of a project's newest releases with a dependency that cannot be met. */
const MAX_BLOCKED_RELEASES = 8;

interface ResolverContext {
  readonly catalogue: ReleaseCatalogue;
  readonly target: Target;
  /** Returns the metadata of a candidate; undefined if the metadata is unusable. */
  metadataOf(candidate: Candidate): Promise<Metadata | undefined>;
}

/** The requirements of Python distributions as a problem for the solver. */
export class Requirements implements Problem<RequirementFact> {
  readonly #context: ResolverContext;
  /** Project → dependencies of its releases that cannot be met. */
  readonly #unmetRequirements = new Map<string, RequirementFact[]>();

  constructor(context: ResolverContext) {
    this.#context = context;
  }

  sizeOf(id: string): number {
    return this.#context.catalogue.releases(nameOf(id)).candidates.length;
  }

  /** Returns the rules of the author's own requirements. */
  async rootRules(requirements: readonly Requirement[]): Promise<Rule<RequirementFact>[]> {
    const activeRequirements = requirements.filter(({ marker }) => !marker || this.#isMet(marker, ''));
    return this.#rules(activeRequirements, undefined);
  }

  async rulesOf(id: string, index: number): Promise<readonly Rule<RequirementFact>[]> {
    const name = nameOf(id);
    const candidate = this.#context.catalogue.releases(name).candidates[index];
    if (!candidate) throw new Error(`${name} has no candidate ${index}.`);
    const dependent = { name, version: candidate.version };
    const metadata = await this.#context.metadataOf(candidate);
    if (!metadata) return [this.#impossibleRule(id, dependent, { kind: 'malformed' })];
    const pythonRange = parseSpecifier(metadata.requiresPython);
    if (
      pythonRange &&
      !satisfiesSpecifier(this.#context.target.markers['python_full_version'] ?? '', pythonRange)
    ) {
      return [this.#impossibleRule(id, dependent, { kind: 'python', pythonRange: metadata.requiresPython })];
    }
    const requirements = metadata.requires.map(parseRequirement);
    const validRequirements = requirements.filter((requirement) => requirement !== undefined);
    if (validRequirements.length < requirements.length)
      return [this.#impossibleRule(id, dependent, { kind: 'malformed' })];
    return this.#rules(this.#activeRequirements(validRequirements, id, dependent), dependent);
  }

  /**
   * Returns the requirements that apply. For an id with extras, these are the requirements that the extras add, and the
   * distribution itself in the same version.
   */
  #activeRequirements(
    requirements: readonly Requirement[],
    id: string,
    dependent: { name: string; version: string },
  ): Requirement[] {
    const extras = extrasOf(id);
    const baseRequirements = requirements.filter(({ marker }) => !marker || this.#isMet(marker, ''));
    if (extras.length === 0) return baseRequirements;
    const extraRequirements = requirements.filter(
      (requirement) =>
        !baseRequirements.includes(requirement) &&
        extras.some((extra) => requirement.marker && this.#isMet(requirement.marker, extra)),
    );
    const pinnedText = `${dependent.name}==${dependent.version}`;
    const pinnedRequirement = parseRequirement(pinnedText);
    return pinnedRequirement ? [pinnedRequirement, ...extraRequirements] : extraRequirements;
  }

  #isMet(marker: NonNullable<Requirement['marker']>, extra: string): boolean {
    return evaluateMarker(marker, { ...this.#context.target.markers, extra });
  }

  async #rules(
    requirements: readonly Requirement[],
    dependent: RequirementFact['dependent'],
  ): Promise<Rule<RequirementFact>[]> {
    const changes = await Promise.all(
      requirements.map(({ name, specifier }) => this.#context.catalogue.load(name, specifier)),
    );
    if (changes.includes(true)) throw new ReleasesChangedError();
    return requirements.map((requirement) => this.#rule(requirement, dependent));
  }

  #rule(
    { name, extras, specifier, text, url }: Requirement,
    dependent: RequirementFact['dependent'],
  ): Rule<RequirementFact> {
    const releases = this.#context.catalogue.releases(name);
    const allowedSet =
      url === undefined
        ? setOf(releases.candidates, ({ version }) => satisfiesSpecifier(version, specifier))
        : 0n;
    const obstacle = url === undefined ? obstacleOf(releases, specifier) : ({ kind: 'url' } as const);
    const fact: RequirementFact = {
      name,
      text,
      ...(dependent && { dependent }),
      ...(allowedSet === 0n && { obstacle }),
    };
    if (dependent && allowedSet === 0n) this.#recordUnmetRequirement(dependent.name, fact);
    return { target: idWithExtras(name, extras), allowedSet, reason: fact };
  }

  #recordUnmetRequirement(name: string, fact: RequirementFact): void {
    const facts = [...(this.#unmetRequirements.get(name) ?? []), fact];
    this.#unmetRequirements.set(name, facts);
    const versions = new Set(facts.map(({ dependent }) => dependent?.version));
    if (versions.size > MAX_BLOCKED_RELEASES) throw new TooManyBlockedReleasesError(facts);
  }

  #impossibleRule(
    id: string,
    dependent: { name: string; version: string },
    obstacle: Obstacle,
  ): Rule<RequirementFact> {
    return {
      target: id,
      allowedSet: 0n,
      reason: { dependent, name: dependent.name, text: dependent.name, obstacle },
    };
  }
}

/** Returns why a specifier allows no candidate. */
function obstacleOf(
  { exists, candidates, refusedReleases }: ProjectReleases,
  specifier: Specifier,
): Obstacle {
  if (!exists) return { kind: 'unknown' };
  const matchingReleases = refusedReleases.filter(({ version }) => satisfiesSpecifier(version, specifier));
  if (matchingReleases.length > 0) return { kind: 'refused', refusedReleases: matchingReleases };
  return { kind: 'no-version', newestVersion: candidates[0]?.version ?? refusedReleases[0]?.version };
}

function nameOf(id: string): string {
  return id.split('[', 1)[0] ?? id;
}

function extrasOf(id: string): string[] {
  return /\[(.*)\]$/.exec(id)?.[1]?.split(',') ?? [];
}
