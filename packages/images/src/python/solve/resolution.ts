import { ImageError } from '../../error.ts';
import { parseMetadata, type Metadata } from '../pep/metadata.ts';
import { canonicalName } from '../pep/names.ts';
import { parseRequirement, type Requirement } from '../pep/requirement.ts';
import { isAllowed, isPreRelease, isSame, newestFirst } from '../pep/version.ts';
import type { Target } from '../pep/target.ts';
import type { Offer, Source } from '../sources/source.ts';
import { type Candidate, Catalogue } from './catalogue.ts';
import { explain, explainDeadEnd } from './explanation.ts';
import { factsOf, type Incompatibility } from './incompatibility.ts';
import { type Asked, ChoiceChanged, DeadEnd, Requirements } from './requirements.ts';
import { type Solution, solve } from './solver.ts';

/** A release that is installed. */
export interface Chosen {
  /** Canonical. */
  readonly name: string;
  readonly version: string;
  readonly offer: Offer;
  /** Its `Requires-Dist` fields. */
  readonly requires: readonly string[];
}

/** Everything that is installed, by name, and what the author should know of it. */
export interface Resolution {
  readonly chosen: readonly Chosen[];
  readonly warnings: readonly string[];
}

export interface ResolveOptions {
  readonly sources: readonly Source[];
  readonly target: Target;
  readonly signal?: AbortSignal;
  /** Decisions and conflicts; default 5,000. */
  readonly maxSteps?: number;
  /** Metadata files that are read; default 400. */
  readonly maxReads?: number;
}

const MAX_STEPS = 5_000;
const MAX_READS = 400;

/**
 * The newest releases that fulfil the requirements together, on the target.
 * @throws ImageError invalid_specifier, package_not_found, version_not_found, no_compatible_wheel, incompatible_platform,
 * resolution_conflict; and what the sources throw.
 */
export async function resolveRequirements(
  texts: readonly string[],
  options: ResolveOptions,
): Promise<Resolution> {
  const wanted = texts.map(readRequirement);
  const catalogue = new Catalogue(options.sources, options.target);
  const reader = new Reader(options);
  const metadataOf = (candidate: Candidate): Promise<Metadata | undefined> => reader.read(candidate);
  const problem = new Requirements({ catalogue, target: options.target, metadataOf });
  for (;;) {
    const solution = await attempt(problem, wanted, options);
    if (!solution) continue;
    if (!solution.ok) throw failureOf(solution, options.target);
    const places = [...solution.chosen].filter(([id]) => !id.includes('['));
    const candidates = places.map(
      ([name, place]) => [name, catalogue.choice(name).candidates[place]] as const,
    );
    const chosen = await Promise.all(
      candidates.map(async ([name, candidate]) => reader.chosen(name, candidate)),
    );
    chosen.sort((a, b) => (a.name < b.name ? -1 : 1));
    return { chosen, warnings: warningsOf(chosen, wanted, catalogue) };
  }
}

/** Undefined when a requirement changed what there is to choose from. */
async function attempt(
  problem: Requirements,
  wanted: readonly Requirement[],
  { target, maxSteps = MAX_STEPS }: ResolveOptions,
): Promise<Solution<Asked> | undefined> {
  try {
    return await solve(problem, await problem.wanted(wanted), maxSteps);
  } catch (error) {
    if (error instanceof ChoiceChanged) return undefined;
    if (error instanceof DeadEnd) throw explainDeadEnd(error.facts, target);
    throw error;
  }
}

function readRequirement(text: string): Requirement {
  const requirement = parseRequirement(text);
  if (requirement && requirement.url === undefined) return requirement;
  const reason = requirement ? 'names a URL' : 'is not a requirement such as jinja2 or pydantic>=2,<3';
  throw new ImageError(
    'invalid_specifier',
    `${text} ${reason}. Name a package of the index, with an optional range.`,
  );
}

function failureOf(
  { proof }: { readonly proof?: Incompatibility<Asked> | undefined },
  target: Target,
): ImageError {
  if (proof) return explain(factsOf(proof), target);
  return new ImageError(
    'resolution_conflict',
    'No set of releases that go together was found within the limit of steps. Give narrower ranges, such as package>=2,<3.',
  );
}

/** Reads metadata, each once, up to a limit. */
class Reader {
  readonly #options: ResolveOptions;
  readonly #read = new Map<string, Promise<Metadata | undefined>>();

  constructor(options: ResolveOptions) {
    this.#options = options;
  }

  async read({ offer }: Candidate): Promise<Metadata | undefined> {
    this.#options.signal?.throwIfAborted();
    const known = this.#read.get(offer.location);
    if (known) return known;
    const limit = this.#options.maxReads ?? MAX_READS;
    if (this.#read.size >= limit) {
      throw new ImageError(
        'resolution_conflict',
        `No set of releases that go together was found among ${limit} releases, the last of them of ${offer.wheel.name}. Give narrower ranges, such as ${offer.wheel.name}>=2,<3.`,
      );
    }
    const reading = this.#parse(offer);
    this.#read.set(offer.location, reading);
    return reading;
  }

  /** Undefined when the metadata is none, or of another distribution than the wheel's name says. */
  async #parse(offer: Offer): Promise<Metadata | undefined> {
    const source = this.#options.sources.find(({ kind }) => kind === offer.source);
    const metadata = source && parseMetadata(await source.metadataOf(offer));
    if (!metadata || canonicalName(metadata.name) !== offer.wheel.name) return undefined;
    return isSame(metadata.version, offer.wheel.version) ? metadata : undefined;
  }

  async chosen(name: string, candidate: Candidate | undefined): Promise<Chosen> {
    if (!candidate) throw new Error(`Nothing was chosen for ${name}.`);
    const metadata = await this.read(candidate);
    return { name, version: candidate.version, offer: candidate.offer, requires: metadata?.requires ?? [] };
  }
}

/** A sentence for each of the author's requirements that got an older release than there is. */
function warningsOf(
  chosen: readonly Chosen[],
  wanted: readonly Requirement[],
  catalogue: Catalogue,
): string[] {
  return wanted.flatMap(({ name, specifier, text }) => {
    const version = chosen.find((one) => one.name === name)?.version;
    if (version === undefined) return [];
    const { refused, candidates } = catalogue.choice(name);
    const isNewer = (other: { version: string }): boolean =>
      newestFirst(other.version, version) < 0 &&
      !isPreRelease(other.version) &&
      isAllowed(other.version, specifier);
    const unusable = refused.find(
      (other) => isNewer(other) && (other.why === 'wheel' || other.why === 'python'),
    );
    const passed = candidates.find(isNewer);
    if (passed)
      return [`${text}: ${version} was taken, since ${passed.version} does not go together with the rest.`];
    const reason =
      unusable?.why === 'python' ? 'is for other versions of Python' : 'has no wheel for this platform';
    return unusable ? [`${text}: ${version} was taken, since ${unusable.version} ${reason}.`] : [];
  });
}
