import { paragraphsOf, readParagraph, readRelations, type Alternatives, type Relation } from './control.ts';
import { compareVersions, satisfiesVersionCondition } from './version.ts';

/** A package in an archive's index. */
export interface DebianPackage {
  readonly name: string;
  readonly version: string;
  readonly architecture: string;
  /** Required packages: `Pre-Depends` and `Depends`. */
  readonly dependencies: readonly Alternatives[];
  /** Packages that cannot be installed together with it: `Conflicts` and `Breaks`. */
  readonly conflicts: readonly Relation[];
  /** Virtual packages that it provides, with a version if one is given. */
  readonly provides: readonly Relation[];
  /** The .deb: its URL, size in bytes, and digest in hexadecimal. */
  readonly url: string;
  readonly size: number;
  readonly sha256: string;
}

/** The source of an index. */
export interface IndexSource {
  /** Base URL of `Filename` fields. */
  readonly baseUrl: string;
}

/** The packages of several archives. */
export class PackageCatalogue {
  readonly #paragraphs = new Map<string, { text: string; baseUrl: string }[]>();
  /** Virtual name → names of packages that provide it. */
  readonly #providers = new Map<string, Set<string>>();
  readonly #parsedPackages = new Map<string, readonly DebianPackage[]>();

  /** Adds an index (`Packages`). Its tens of thousands of paragraphs are parsed on demand. */
  add(index: string, { baseUrl }: IndexSource): void {
    for (const text of paragraphsOf(index)) {
      const name = /^Package:\s*(\S+)/m.exec(text)?.[1];
      if (name === undefined) continue;
      const paragraphs = this.#paragraphs.get(name);
      if (paragraphs === undefined) this.#paragraphs.set(name, [{ text, baseUrl }]);
      else paragraphs.push({ text, baseUrl });
      const provides = /^Provides:(.*(?:\n[ \t].*)*)/m.exec(text)?.[1];
      for (const { name: providedName } of readRelations(provides).flat()) {
        const providers = this.#providers.get(providedName);
        if (providers === undefined) this.#providers.set(providedName, new Set([name]));
        else providers.add(name);
      }
    }
  }

  /** Returns the packages with a name, the newest first. */
  versions(name: string): readonly DebianPackage[] {
    const cachedPackages = this.#parsedPackages.get(name);
    if (cachedPackages !== undefined) return cachedPackages;
    const packages = (this.#paragraphs.get(name) ?? []).flatMap(
      ({ text, baseUrl }) => readPackage(text, baseUrl) ?? [],
    );
    const uniquePackages = new Map(
      packages.map((candidate) => [`${candidate.version} ${candidate.architecture}`, candidate]),
    );
    const sortedPackages = [...uniquePackages.values()].sort((a, b) => compareVersions(b.version, a.version));
    this.#parsedPackages.set(name, sortedPackages);
    return sortedPackages;
  }

  /**
   * Returns the packages that satisfy a relation: first the packages with the name, then the packages that provide the
   * name.
   */
  candidates(relation: Relation): DebianPackage[] {
    const namedPackages = this.versions(relation.name).filter((candidate) => satisfies(candidate, relation));
    const providers = [...(this.#providers.get(relation.name) ?? [])].sort();
    const providingPackages = providers
      .flatMap((name) => this.versions(name))
      .filter((candidate) => candidate.name !== relation.name && satisfies(candidate, relation));
    return [...namedPackages, ...providingPackages];
  }

  /** Returns whether a package has the name or provides it. */
  has(name: string): boolean {
    return this.#paragraphs.has(name) || this.#providers.has(name);
  }
}

/** Returns whether a package satisfies a relation, by its own name or by one that it provides. */
export function satisfies(candidate: DebianPackage, { name, version }: Relation): boolean {
  if (candidate.name === name)
    return (
      version === undefined || satisfiesVersionCondition(candidate.version, version.operator, version.value)
    );
  return candidate.provides.some((providedRelation) => {
    if (providedRelation.name !== name) return false;
    if (version === undefined) return true;
    // A provided name without a version satisfies no relation with a version (Debian Policy 7.5).
    return (
      providedRelation.version !== undefined &&
      satisfiesVersionCondition(providedRelation.version.value, version.operator, version.value)
    );
  });
}

function readPackage(text: string, baseUrl: string): DebianPackage | undefined {
  const fields = readParagraph(text);
  const [name, version] = [fields.get('package'), fields.get('version')];
  const [filename, sha256] = [fields.get('filename'), fields.get('sha256')];
  const size = Number(fields.get('size'));
  if (name === undefined || version === undefined || filename === undefined) return undefined;
  if (sha256 === undefined || !/^[0-9a-f]{64}$/.test(sha256) || !Number.isSafeInteger(size)) return undefined;
  return {
    name,
    version,
    architecture: fields.get('architecture') ?? 'all',
    dependencies: [...readRelations(fields.get('pre-depends')), ...readRelations(fields.get('depends'))],
    conflicts: [...readRelations(fields.get('conflicts')), ...readRelations(fields.get('breaks'))].flat(),
    provides: readRelations(fields.get('provides')).flat(),
    url: new URL(filename.split('/').map(encodeURIComponent).join('/'), baseUrl).href,
    size,
    sha256,
  };
}
