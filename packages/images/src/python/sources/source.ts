import type { WheelName } from '../pep/wheel-name.ts';

/**
 * The kind of source in which a wheel was found. Stored in the lock, where it determines how the wheel is fetched
 * again.
 */
export type SourceKind = 'wheelhouse' | 'index' | 'pyodide';

/** A wheel in a source. */
export interface AvailableWheel {
  readonly source: SourceKind;
  readonly filename: string;
  readonly wheel: WheelName;
  /** Absolute URL; for a wheelhouse only the file name, since its folder is configuration. */
  readonly location: string;
  /** `sha256:<hex>` or `sha512:<hex>`; a wheel without a digest is never used. */
  readonly digest: string | undefined;
  /** In bytes, if the source provides it. */
  readonly size: number | undefined;
  readonly requiresPython: string;
  /** The reason, possibly empty, if the release was yanked (PEP 592). */
  readonly yanked: string | undefined;
  /** Set if the source provides the metadata as a separate file (PEP 658), with its digest if known. */
  readonly metadata: { readonly digest: string | undefined } | undefined;
}

/** A project in one source. */
export interface Project {
  readonly wheels: readonly AvailableWheel[];
  /** Versions that exist only as source code, if the source reports them. */
  readonly sourceOnlyVersions: readonly string[];
}

/** A source of wheels. */
export interface Source {
  readonly kind: SourceKind;
  /** Returns undefined if the source does not have the project. Names are canonical. */
  find(name: string): Promise<Project | undefined>;
  /** Returns the text of the wheel's METADATA. */
  metadataOf(availableWheel: AvailableWheel): Promise<string>;
}
