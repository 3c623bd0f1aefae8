import {
  parseSpecifier,
  satisfiesSpecifier,
  isPreRelease,
  compareNewestFirst,
  pinsVersion,
  type Specifier,
  allowsPreReleases,
} from '../pep/version.ts';
import type { Target } from '../pep/target.ts';
import { tagRank } from '../pep/wheel-name.ts';
import type { AvailableWheel, Project, Source } from '../sources/source.ts';

/** A release that can be installed: its best wheel. */
export interface Candidate {
  readonly version: string;
  readonly availableWheel: AvailableWheel;
}

/** Why a release cannot be installed. */
export type RefusalReason = 'wheel' | 'python' | 'digest' | 'yanked' | 'pre-release';

/** A release that cannot be installed. */
export interface RefusedRelease {
  readonly version: string;
  readonly reason: RefusalReason;
  /** For `wheel` the tags of its wheels, for `python` the required versions, for `yanked` the reasons. */
  readonly details: readonly string[];
}

/** The releases of one project. */
export interface ProjectReleases {
  readonly name: string;
  /** True if any source has the project. */
  readonly exists: boolean;
  /** Best first: by source order, then newest. */
  readonly candidates: readonly Candidate[];
  readonly refusedReleases: readonly RefusedRelease[];
}

/** The projects of all sources; each is looked up once. */
export class ReleaseCatalogue {
  readonly #sources: readonly Source[];
  readonly #target: Target;
  readonly #projects = new Map<string, Promise<readonly Project[]>>();
  readonly #releases = new Map<string, ProjectReleases>();
  /** Names whose pre-releases are requested, and `name==version` of requested yanked releases. */
  readonly #admittedReleases = new Set<string>();

  constructor(sources: readonly Source[], target: Target) {
    this.#sources = sources;
    this.#target = target;
  }

  /** Returns the releases of a loaded project. */
  releases(name: string): ProjectReleases {
    const releases = this.#releases.get(name);
    if (!releases) throw new Error(`${name} was requested before it was loaded.`);
    return releases;
  }

  /**
   * Looks up a project and admits the releases that the specifier requests. Returns whether this changed earlier
   * results.
   */
  async load(name: string, specifier: Specifier): Promise<boolean> {
    const lookup = this.#projects.get(name) ?? this.#lookUp(name);
    this.#projects.set(name, lookup);
    const projects = await lookup;
    const hasAdmitted = this.#admit(name, specifier, projects);
    const previousReleases = this.#releases.get(name);
    if (previousReleases && !hasAdmitted) return false;
    this.#releases.set(name, this.#classify(name, projects));
    return previousReleases !== undefined;
  }

  /**
   * Looks up a project. A wheelhouse with a compatible wheel is used exclusively: an operator's wheels are not mixed
   * with public ones of the same name. Otherwise the first index with the project is used, and the Pyodide mirror adds
   * releases that the index lacks.
   */
  async #lookUp(name: string): Promise<readonly Project[]> {
    const projects: Project[] = [];
    for (const source of this.#sources) {
      const project = await source.find(name);
      if (!project) continue;
      projects.push(project);
      if (
        source.kind === 'wheelhouse' &&
        project.wheels.some(({ wheel }) => tagRank(wheel, this.#target) !== undefined)
      )
        break;
      if (source.kind === 'index') {
        const mirrors = this.#sources.filter(({ kind }) => kind === 'pyodide');
        for (const mirror of mirrors)
          projects.push(...[await mirror.find(name)].filter((project) => project !== undefined));
        break;
      }
    }
    return projects;
  }

  #admit(name: string, specifier: Specifier, projects: readonly Project[]): boolean {
    const previousSize = this.#admittedReleases.size;
    if (allowsPreReleases(specifier)) this.#admittedReleases.add(name);
    for (const { wheel, yanked } of projects.flatMap(({ wheels }) => wheels)) {
      if (yanked !== undefined && pinsVersion(specifier, wheel.version))
        this.#admittedReleases.add(`${name}==${wheel.version}`);
    }
    return this.#admittedReleases.size > previousSize;
  }

  #classify(name: string, projects: readonly Project[]): ProjectReleases {
    const candidates = new Map<string, Candidate>();
    const refusedReleases = new Map<string, RefusedRelease>();
    for (const project of projects) {
      const wheelsByVersion = Map.groupBy(project.wheels, ({ wheel }) => wheel.version);
      for (const version of project.sourceOnlyVersions)
        if (!wheelsByVersion.has(version)) wheelsByVersion.set(version, []);
      for (const version of [...wheelsByVersion.keys()].sort(compareNewestFirst)) {
        const result = this.#select(name, version, wheelsByVersion.get(version) ?? []);
        if ('reason' in result) refusedReleases.set(version, refusedReleases.get(version) ?? result);
        else if (!candidates.has(version)) candidates.set(version, result);
      }
    }
    const installableCandidates = this.#withoutPreReleases(name, [...candidates.values()]);
    for (const { version } of installableCandidates) refusedReleases.delete(version);
    for (const { version } of candidates.values()) {
      if (!installableCandidates.some((candidate) => candidate.version === version)) {
        refusedReleases.set(version, { version, reason: 'pre-release', details: [] });
      }
    }
    return {
      name,
      exists: projects.length > 0,
      candidates: installableCandidates,
      refusedReleases: [...refusedReleases.values()],
    };
  }

  /** Excludes pre-releases unless they are requested or there are no others. */
  #withoutPreReleases(name: string, candidates: Candidate[]): Candidate[] {
    if (this.#admittedReleases.has(name)) return candidates;
    const finalReleases = candidates.filter(({ version }) => !isPreRelease(version));
    return finalReleases.length > 0 ? finalReleases : candidates;
  }

  #select(
    name: string,
    version: string,
    availableWheels: readonly AvailableWheel[],
  ): Candidate | RefusedRelease {
    const compatibleWheels = availableWheels.filter(
      ({ wheel }) => tagRank(wheel, this.#target) !== undefined,
    );
    const tags = availableWheels.flatMap(({ wheel }) => wheel.tags);
    if (compatibleWheels.length === 0) return { version, reason: 'wheel', details: tags };
    const supportedWheels = compatibleWheels.filter((availableWheel) => this.#supportsPython(availableWheel));
    if (supportedWheels.length === 0)
      return {
        version,
        reason: 'python',
        details: compatibleWheels.map(({ requiresPython }) => requiresPython),
      };
    const wheelsWithDigest = supportedWheels.filter(({ digest }) => digest !== undefined);
    if (wheelsWithDigest.length === 0) return { version, reason: 'digest', details: [] };
    const allowedWheels = wheelsWithDigest.filter(
      ({ yanked }) => yanked === undefined || this.#admittedReleases.has(`${name}==${version}`),
    );
    const [availableWheel] = allowedWheels.sort((a, b) => this.#compareRanks(a, b));
    return availableWheel
      ? { version, availableWheel }
      : { version, reason: 'yanked', details: wheelsWithDigest.map(({ yanked }) => yanked ?? '') };
  }

  #supportsPython({ requiresPython }: AvailableWheel): boolean {
    const specifier = parseSpecifier(requiresPython);
    return !specifier || satisfiesSpecifier(this.#target.markers['python_full_version'] ?? '', specifier);
  }

  #compareRanks(a: AvailableWheel, b: AvailableWheel): number {
    const difference = (tagRank(a.wheel, this.#target) ?? 0) - (tagRank(b.wheel, this.#target) ?? 0);
    return (
      difference ||
      b.wheel.buildTag[0] - a.wheel.buildTag[0] ||
      (a.wheel.buildTag[1] < b.wheel.buildTag[1] ? 1 : -1)
    );
  }
}
