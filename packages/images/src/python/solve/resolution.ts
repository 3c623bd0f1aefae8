import { ImageError } from '../../error.ts';
import { parseMetadata, type Metadata } from '../pep/metadata.ts';
import { canonicalName } from '../pep/names.ts';
import { parseRequirement, type Requirement } from '../pep/requirement.ts';
import { satisfiesSpecifier, isPreRelease, isSameVersion, compareNewestFirst } from '../pep/version.ts';
import type { Target } from '../pep/target.ts';
import type { AvailableWheel, Source } from '../sources/source.ts';
import { type Candidate, ReleaseCatalogue } from './catalogue.ts';
import { resolutionError, blockedReleasesError } from './explanation.ts';
import { factsOf, type Incompatibility } from './incompatibility.ts';
import {
  type RequirementFact,
  ReleasesChangedError,
  TooManyBlockedReleasesError,
  Requirements,
} from './requirements.ts';
import { type Solution, solve } from './solver.ts';

/** A release that will be installed. */
export interface ChosenRelease {
  /** Canonical name. */
  readonly name: string;
  readonly version: string;
  readonly availableWheel: AvailableWheel;
  /** Its `Requires-Dist` fields. */
  readonly requires: readonly string[];
}

/** The releases to install, ordered by name, and warnings for the author. */
export interface Resolution {
  readonly chosenReleases: readonly ChosenRelease[];
  readonly warnings: readonly string[];
}

export interface ResolveOptions {
  readonly sources: readonly Source[];
  readonly target: Target;
  readonly signal?: AbortSignal;
  /** Maximum number of decisions and conflicts; default 5,000. */
  readonly maxSteps?: number;
  /** Maximum number of metadata files to read; default 400. */
  readonly maxReads?: number;
}

const MAX_STEPS = 5_000;
const MAX_READS = 400;

/**
 * Returns the newest releases that satisfy the requirements together on the target.
 * @throws ImageError invalid_specifier, package_not_found, version_not_found, no_compatible_wheel,
 * incompatible_platform, unsupported_package, integrity_error, resolution_conflict, and errors of the sources.
 */
export async function resolveRequirements(
  requirementTexts: readonly string[],
  options: ResolveOptions,
): Promise<Resolution> {
  const requirements = requirementTexts.map(readRequirement);
  const catalogue = new ReleaseCatalogue(options.sources, options.target);
  const reader = new MetadataReader(options);
  const metadataOf = (candidate: Candidate): Promise<Metadata | undefined> => reader.read(candidate);
  const problem = new Requirements({ catalogue, target: options.target, metadataOf });
  for (;;) {
    const solution = await solveOnce(problem, requirements, options);
    if (!solution) continue;
    if (!solution.ok) throw failureOf(solution, options.target);
    const assignments = [...solution.chosenIndexes].filter(([id]) => !id.includes('['));
    const candidates = assignments.map(
      ([name, index]) => [name, catalogue.releases(name).candidates[index]] as const,
    );
    const chosenReleases = await Promise.all(
      candidates.map(async ([name, candidate]) => reader.toChosenRelease(name, candidate)),
    );
    chosenReleases.sort((a, b) => (a.name < b.name ? -1 : 1));
    return { chosenReleases, warnings: warningsOf(chosenReleases, requirements, catalogue) };
  }
}

/**
 * Solves the problem. Returns undefined if a requirement changed the available releases, so that solving has to
 * restart.
 */
async function solveOnce(
  problem: Requirements,
  requirements: readonly Requirement[],
  { target, maxSteps = MAX_STEPS }: ResolveOptions,
): Promise<Solution<RequirementFact> | undefined> {
  try {
    return await solve(problem, await problem.rootRules(requirements), maxSteps);
  } catch (error) {
    if (error instanceof ReleasesChangedError) return undefined;
    if (error instanceof TooManyBlockedReleasesError) throw blockedReleasesError(error.facts, target);
    throw error;
  }
}

function readRequirement(text: string): Requirement {
  const requirement = parseRequirement(text);
  if (requirement && requirement.url === undefined) return requirement;
  const reason = requirement ? 'names a URL' : 'is not a requirement such as jinja2 or pydantic>=2,<3';
  throw new ImageError(
    'invalid_specifier',
    `${text} ${reason}. Name an index package with an optional range.`,
  );
}

function failureOf(
  { proof }: { readonly proof?: Incompatibility<RequirementFact> | undefined },
  target: Target,
): ImageError {
  if (proof) return resolutionError(factsOf(proof), target);
  return new ImageError(
    'resolution_conflict',
    'No compatible set of releases was found within the step limit. Narrow the ranges, for example package>=2,<3.',
  );
}

/** Reads each metadata file once, and at most `maxReads` files. */
class MetadataReader {
  readonly #options: ResolveOptions;
  readonly #cache = new Map<string, Promise<Metadata | undefined>>();

  constructor(options: ResolveOptions) {
    this.#options = options;
  }

  async read({ availableWheel }: Candidate): Promise<Metadata | undefined> {
    this.#options.signal?.throwIfAborted();
    const cached = this.#cache.get(availableWheel.location);
    if (cached) return cached;
    const limit = this.#options.maxReads ?? MAX_READS;
    if (this.#cache.size >= limit) {
      throw new ImageError(
        'resolution_conflict',
        `No compatible set was found among ${limit} releases, the last one of ${availableWheel.wheel.name}. Narrow the ranges, for example ${availableWheel.wheel.name}>=2,<3.`,
      );
    }
    const metadataPromise = this.#parse(availableWheel);
    this.#cache.set(availableWheel.location, metadataPromise);
    return metadataPromise;
  }

  /** Returns undefined if the metadata is invalid, or differs in name or version from the wheel's file name. */
  async #parse(availableWheel: AvailableWheel): Promise<Metadata | undefined> {
    const source = this.#options.sources.find(({ kind }) => kind === availableWheel.source);
    const metadata = source && parseMetadata(await source.metadataOf(availableWheel));
    if (!metadata || canonicalName(metadata.name) !== availableWheel.wheel.name) return undefined;
    return isSameVersion(metadata.version, availableWheel.wheel.version) ? metadata : undefined;
  }

  async toChosenRelease(name: string, candidate: Candidate | undefined): Promise<ChosenRelease> {
    if (!candidate) throw new Error(`Nothing was chosen for ${name}.`);
    const metadata = await this.read(candidate);
    return {
      name,
      version: candidate.version,
      availableWheel: candidate.availableWheel,
      requires: metadata?.requires ?? [],
    };
  }
}

/** Returns a warning for each of the author's requirements that got an older release than the newest one. */
function warningsOf(
  chosenReleases: readonly ChosenRelease[],
  requirements: readonly Requirement[],
  catalogue: ReleaseCatalogue,
): string[] {
  return requirements.flatMap(({ name, specifier, text }) => {
    const version = chosenReleases.find((release) => release.name === name)?.version;
    if (version === undefined) return [];
    const { refusedReleases, candidates } = catalogue.releases(name);
    const isNewerMatch = (other: { version: string }): boolean =>
      compareNewestFirst(other.version, version) < 0 &&
      !isPreRelease(other.version) &&
      satisfiesSpecifier(other.version, specifier);
    const unusableRelease = refusedReleases.find(
      (other) => isNewerMatch(other) && (other.reason === 'wheel' || other.reason === 'python'),
    );
    const newerCandidate = candidates.find(isNewerMatch);
    if (newerCandidate)
      return [
        `${text}: ${version} was chosen, because ${newerCandidate.version} conflicts with other packages.`,
      ];
    const reason =
      unusableRelease?.reason === 'python'
        ? 'is for other versions of Python'
        : 'has no wheel for this platform';
    return unusableRelease
      ? [`${text}: ${version} was chosen, because ${unusableRelease.version} ${reason}.`]
      : [];
  });
}
