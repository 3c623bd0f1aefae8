import { isMet } from '../pep/marker.ts';
import type { Metadata } from '../pep/metadata.ts';
import { withExtras } from '../pep/names.ts';
import { parseRequirement, type Requirement } from '../pep/requirement.ts';
import { isAllowed, parseSpecifier, type Specifier } from '../pep/version.ts';
import type { Target } from '../pep/target.ts';
import type { Candidate, Catalogue, Choice, Refused } from './catalogue.ts';
import { setOf } from './sets.ts';
import type { Problem, Rule } from './solver.ts';

/** Why a requirement cannot be met whatever else is chosen. */
export type Obstacle =
  | { readonly kind: 'unknown' }
  | { readonly kind: 'no-version'; readonly newest: string | undefined }
  | { readonly kind: 'refused'; readonly refused: readonly Refused[] }
  | { readonly kind: 'url' }
  | { readonly kind: 'python'; readonly requires: string }
  | { readonly kind: 'malformed' };

/** A requirement as the solver's proofs speak of it. */
export interface Asked {
  /** Absent when the author of the spec asks. */
  readonly by?: { readonly name: string; readonly version: string };
  /** Canonical name of what is asked for, and the requirement as it was written. */
  readonly name: string;
  readonly text: string;
  readonly obstacle?: Obstacle;
}

/**
 * Thrown when a requirement asks for releases that did not count before: what was concluded so far is void. The catalogue
 * counts them from now on, so that a new start does not end here again.
 */
export class ChoiceChanged extends Error {}

/**
 * Thrown when release after release of a project needs what cannot be had. Going on would end in the silent choice of a
 * release that is years old and happens to need nothing.
 */
export class DeadEnd extends Error {
  readonly facts: readonly Asked[];

  constructor(facts: readonly Asked[]) {
    super('Too many releases need what cannot be had.');
    this.facts = facts;
  }
}

/** As many of a project's newest releases may need what cannot be had. */
const MAX_BLOCKED = 8;

interface Surroundings {
  readonly catalogue: Catalogue;
  readonly target: Target;
  /** The metadata of a candidate; undefined when it is unusable. */
  metadataOf(candidate: Candidate): Promise<Metadata | undefined>;
}

/** The requirements of Python distributions as a problem for the solver. */
export class Requirements implements Problem<Asked> {
  readonly #around: Surroundings;
  /** Project → what its releases need that cannot be had. */
  readonly #blocked = new Map<string, Asked[]>();

  constructor(around: Surroundings) {
    this.#around = around;
  }

  sizeOf(id: string): number {
    return this.#around.catalogue.choice(nameOf(id)).candidates.length;
  }

  /** Rules of the author's own requirements. */
  async wanted(requirements: readonly Requirement[]): Promise<Rule<Asked>[]> {
    const met = requirements.filter(({ marker }) => !marker || this.#isMet(marker, ''));
    return this.#rules(met, undefined);
  }

  async rulesOf(id: string, place: number): Promise<readonly Rule<Asked>[]> {
    const name = nameOf(id);
    const candidate = this.#around.catalogue.choice(name).candidates[place];
    if (!candidate) throw new Error(`${name} has no candidate ${place}.`);
    const by = { name, version: candidate.version };
    const metadata = await this.#around.metadataOf(candidate);
    if (!metadata) return [this.#impossible(id, by, { kind: 'malformed' })];
    const python = parseSpecifier(metadata.requiresPython);
    if (python && !isAllowed(this.#around.target.markers['python_full_version'] ?? '', python)) {
      return [this.#impossible(id, by, { kind: 'python', requires: metadata.requiresPython })];
    }
    const requirements = metadata.requires.map(parseRequirement);
    const sound = requirements.filter((requirement) => requirement !== undefined);
    if (sound.length < requirements.length) return [this.#impossible(id, by, { kind: 'malformed' })];
    return this.#rules(this.#active(sound, id, by), by);
  }

  /** The requirements that count: of the distribution itself, or, of one with extras, what these add. */
  #active(
    requirements: readonly Requirement[],
    id: string,
    by: { name: string; version: string },
  ): Requirement[] {
    const extras = extrasOf(id);
    const plain = requirements.filter(({ marker }) => !marker || this.#isMet(marker, ''));
    if (extras.length === 0) return plain;
    const added = requirements.filter(
      (requirement) =>
        !plain.includes(requirement) &&
        extras.some((extra) => requirement.marker && this.#isMet(requirement.marker, extra)),
    );
    const itself = `${by.name}==${by.version}`;
    const own = parseRequirement(itself);
    return own ? [own, ...added] : added;
  }

  #isMet(marker: NonNullable<Requirement['marker']>, extra: string): boolean {
    return isMet(marker, { ...this.#around.target.markers, extra });
  }

  async #rules(requirements: readonly Requirement[], by: Asked['by']): Promise<Rule<Asked>[]> {
    const changes = await Promise.all(
      requirements.map(({ name, specifier }) => this.#around.catalogue.load(name, specifier)),
    );
    if (changes.includes(true)) throw new ChoiceChanged();
    return requirements.map((requirement) => this.#rule(requirement, by));
  }

  #rule({ name, extras, specifier, text, url }: Requirement, by: Asked['by']): Rule<Asked> {
    const choice = this.#around.catalogue.choice(name);
    const allowed =
      url === undefined ? setOf(choice.candidates, ({ version }) => isAllowed(version, specifier)) : 0n;
    const obstacle = url === undefined ? obstacleOf(choice, specifier) : ({ kind: 'url' } as const);
    const note: Asked = { name, text, ...(by && { by }), ...(allowed === 0n && { obstacle }) };
    if (by && allowed === 0n) this.#block(by.name, note);
    return { target: withExtras(name, extras), allowed, note };
  }

  #block(name: string, note: Asked): void {
    const notes = [...(this.#blocked.get(name) ?? []), note];
    this.#blocked.set(name, notes);
    const versions = new Set(notes.map(({ by }) => by?.version));
    if (versions.size > MAX_BLOCKED) throw new DeadEnd(notes);
  }

  #impossible(id: string, by: { name: string; version: string }, obstacle: Obstacle): Rule<Asked> {
    return { target: id, allowed: 0n, note: { by, name: by.name, text: by.name, obstacle } };
  }
}

/** Why no candidate is allowed, for a specifier that allows none. */
function obstacleOf({ exists, candidates, refused }: Choice, specifier: Specifier): Obstacle {
  if (!exists) return { kind: 'unknown' };
  const matching = refused.filter(({ version }) => isAllowed(version, specifier));
  if (matching.length > 0) return { kind: 'refused', refused: matching };
  return { kind: 'no-version', newest: candidates[0]?.version ?? refused[0]?.version };
}

function nameOf(id: string): string {
  return id.split('[', 1)[0] ?? id;
}

function extrasOf(id: string): string[] {
  return /\[(.*)\]$/.exec(id)?.[1]?.split(',') ?? [];
}
