import {
  parseSpecifier,
  isAllowed,
  isPreRelease,
  newestFirst,
  pins,
  type Specifier,
  wantsPreReleases,
} from '../pep/version.ts';
import type { Target } from '../pep/target.ts';
import { tagRank } from '../pep/wheel-name.ts';
import type { Offer, Project, Source } from '../sources/source.ts';

/** A release that can be installed: its best wheel. */
export interface Candidate {
  readonly version: string;
  readonly offer: Offer;
}

/** Why a release is no candidate. */
export type Refusal = 'wheel' | 'python' | 'digest' | 'yanked' | 'pre-release';

/** A release that is no candidate. */
export interface Refused {
  readonly version: string;
  readonly why: Refusal;
  /** Tags of the wheels that it has; for `python`, what it requires. */
  readonly details: readonly string[];
}

/** What there is to choose from for one project. */
export interface Choice {
  readonly name: string;
  /** Whether any source knows the project. */
  readonly exists: boolean;
  /** The best first: sources in their order, then the newest. */
  readonly candidates: readonly Candidate[];
  readonly refused: readonly Refused[];
}

/** The projects of all sources, each looked up once. */
export class Catalogue {
  readonly #sources: readonly Source[];
  readonly #target: Target;
  readonly #projects = new Map<string, Promise<readonly Project[]>>();
  readonly #choices = new Map<string, Choice>();
  /** Names whose pre-releases, and `name==version` of yanked releases, that a requirement asked for. */
  readonly #admitted = new Set<string>();

  constructor(sources: readonly Source[], target: Target) {
    this.#sources = sources;
    this.#target = target;
  }

  /** The choice of a project that was loaded. */
  choice(name: string): Choice {
    const choice = this.#choices.get(name);
    if (!choice) throw new Error(`${name} is asked for before it was loaded.`);
    return choice;
  }

  /** Looks the project up, and admits what the specifier asks for; true when that changed a choice that was made before. */
  async load(name: string, specifier: Specifier): Promise<boolean> {
    const known = this.#projects.get(name) ?? this.#look(name);
    this.#projects.set(name, known);
    const projects = await known;
    const admitted = this.#admit(name, specifier, projects);
    const before = this.#choices.get(name);
    if (before && !admitted) return false;
    this.#choices.set(name, this.#choose(name, projects));
    return before !== undefined;
  }

  /**
   * A wheelhouse that has a wheel for the target stands alone: what an operator put there is not mixed with what strangers
   * publish under the name. Of the other sources each adds what those before it do not have.
   */
  async #look(name: string): Promise<readonly Project[]> {
    const found: Project[] = [];
    for (const source of this.#sources) {
      const project = await source.find(name);
      if (!project) continue;
      found.push(project);
      if (
        source.kind === 'wheelhouse' &&
        project.wheels.some(({ wheel }) => tagRank(wheel, this.#target) !== undefined)
      )
        break;
      // The first index that knows the name is the only one that is asked.
      if (source.kind === 'index') {
        const rest = this.#sources.filter(({ kind }) => kind === 'pyodide');
        for (const other of rest)
          found.push(...[await other.find(name)].filter((more) => more !== undefined));
        break;
      }
    }
    return found;
  }

  #admit(name: string, specifier: Specifier, projects: readonly Project[]): boolean {
    const before = this.#admitted.size;
    if (wantsPreReleases(specifier)) this.#admitted.add(name);
    for (const { wheel, yanked } of projects.flatMap(({ wheels }) => wheels)) {
      if (yanked !== undefined && pins(specifier, wheel.version))
        this.#admitted.add(`${name}==${wheel.version}`);
    }
    return this.#admitted.size > before;
  }

  #choose(name: string, projects: readonly Project[]): Choice {
    const candidates = new Map<string, Candidate>();
    const refused = new Map<string, Refused>();
    for (const project of projects) {
      const versions = Map.groupBy(project.wheels, ({ wheel }) => wheel.version);
      for (const version of project.sourceOnly) if (!versions.has(version)) versions.set(version, []);
      for (const version of [...versions.keys()].sort(newestFirst)) {
        const judged = this.#judge(name, version, versions.get(version) ?? []);
        if ('why' in judged) refused.set(version, refused.get(version) ?? judged);
        else if (!candidates.has(version)) candidates.set(version, judged);
      }
    }
    const usable = this.#withoutPreReleases(name, [...candidates.values()]);
    for (const { version } of usable) refused.delete(version);
    for (const { version } of candidates.values()) {
      if (!usable.some((candidate) => candidate.version === version)) {
        refused.set(version, { version, why: 'pre-release', details: [] });
      }
    }
    return { name, exists: projects.length > 0, candidates: usable, refused: [...refused.values()] };
  }

  /** Pre-releases count when somebody asks for them, or when there is nothing else. */
  #withoutPreReleases(name: string, candidates: Candidate[]): Candidate[] {
    if (this.#admitted.has(name)) return candidates;
    const finals = candidates.filter(({ version }) => !isPreRelease(version));
    return finals.length > 0 ? finals : candidates;
  }

  #judge(name: string, version: string, offers: readonly Offer[]): Candidate | Refused {
    const fitting = offers.filter(({ wheel }) => tagRank(wheel, this.#target) !== undefined);
    const tags = offers.flatMap(({ wheel }) => wheel.tags);
    if (fitting.length === 0) return { version, why: 'wheel', details: tags };
    const running = fitting.filter((offer) => this.#runs(offer));
    if (running.length === 0)
      return { version, why: 'python', details: fitting.map(({ requiresPython }) => requiresPython) };
    const sure = running.filter(({ digest }) => digest !== undefined);
    if (sure.length === 0) return { version, why: 'digest', details: [] };
    const kept = sure.filter(
      ({ yanked }) => yanked === undefined || this.#admitted.has(`${name}==${version}`),
    );
    const [offer] = kept.sort((a, b) => this.#byRank(a, b));
    return offer
      ? { version, offer }
      : { version, why: 'yanked', details: sure.map(({ yanked }) => yanked ?? '') };
  }

  #runs({ requiresPython }: Offer): boolean {
    const specifier = parseSpecifier(requiresPython);
    return !specifier || isAllowed(this.#target.markers['python_full_version'] ?? '', specifier);
  }

  #byRank(a: Offer, b: Offer): number {
    const rank = (tagRank(a.wheel, this.#target) ?? 0) - (tagRank(b.wheel, this.#target) ?? 0);
    return rank || b.wheel.build[0] - a.wheel.build[0] || (a.wheel.build[1] < b.wheel.build[1] ? 1 : -1);
  }
}
