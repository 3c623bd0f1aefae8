import type { WheelName } from '../pep/wheel-name.ts';

/** Where a wheel was found: it stands in the lock, and says how the wheel is got again. */
export type SourceKind = 'wheelhouse' | 'index' | 'pyodide';

/** A wheel that a source has. */
export interface Offer {
  readonly source: SourceKind;
  readonly filename: string;
  readonly wheel: WheelName;
  /** Absolute; of a wheelhouse the file name alone, for its folder is configuration. */
  readonly location: string;
  /** `sha256:<hex>` or another that the store verifies; a wheel without one is never used. */
  readonly digest: string | undefined;
  /** In bytes, where the source says it. */
  readonly size: number | undefined;
  readonly requiresPython: string;
  /** The reason, perhaps empty, when the release was withdrawn (PEP 592). */
  readonly yanked: string | undefined;
  /** Whether its metadata is beside it (PEP 658), and the digest that was told. */
  readonly metadata: { readonly digest: string | undefined } | undefined;
}

/** Everything that one source has of a project. */
export interface Project {
  readonly wheels: readonly Offer[];
  /** Versions that exist as source code only, as far as the source says. */
  readonly sourceOnly: readonly string[];
}

/** A place where wheels are. */
export interface Source {
  readonly kind: SourceKind;
  /** Undefined when the source does not know the project. Names are canonical. */
  find(name: string): Promise<Project | undefined>;
  /** The text of the wheel's METADATA. */
  metadataOf(offer: Offer): Promise<string>;
}
