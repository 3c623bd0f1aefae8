/** A publisher's file: an archive, or a program itself. */
export interface Download {
  readonly from: 'download';
  readonly format: 'binary' | 'tar.gz' | 'zip';
  /** Name → path in the archive; for a binary, the name of its file. */
  readonly programs: Readonly<Record<string, string>>;
}

/** A module on a Go module proxy. */
export interface GoModule {
  readonly path: string;
  readonly version: string;
  /** Checksum in the format of `go.sum`: `h1:…`. */
  readonly sum: string;
}

/** A module whose sources are compiled, and the folder for its sources. */
export interface GoSource extends GoModule {
  readonly folder: string;
}

/** Programs that are compiled from Go modules. */
export interface GoInstall {
  readonly from: 'go';
  /** The module to compile, then modules that it takes from sibling folders. Its `go.sum` lists all others. */
  readonly modules: readonly [GoSource, ...GoSource[]];
  /** Program → its package in the first module. */
  readonly programs: Readonly<Record<string, string>>;
  /** Variables that the linker sets: package-qualified name → value without spaces. */
  readonly variables: Readonly<Record<string, string>>;
  /** Additional files for modules that are only libraries: path in the first module → content. */
  readonly files?: Readonly<Record<string, string>>;
  /**
   * The publisher's program, which is used if the operator provides its checksum. Undefined if its format cannot be
   * unpacked.
   */
  readonly publisherFile: Download | undefined;
}

/** How a tool's programs are installed. */
export type ToolInstall =
  /** An npm package; its digests come from the lockfile. */
  | { readonly from: 'npm'; readonly name: string; readonly programs: readonly string[] }
  /** A PyPI package; its digests come from the index. */
  | { readonly from: 'pypi'; readonly name: string; readonly programs: readonly string[] }
  | GoInstall
  | Download;

/** The installation of one command-line tool. A change requires a new revision and thus a new id. */
export interface Recipe {
  readonly id: string;
  readonly version: string;
  readonly revision: number;
  /** The publisher's file for x86-64, or the page of the package. */
  readonly url: string;
  /**
   * SHA-256 of the publisher's file. Undefined if it is not known yet, or if the registry provides digests.
   */
  readonly sha256?: string;
  readonly install: ToolInstall;
  /** A command that must exit with 0 inside the image, without network. */
  readonly verifyCommand: readonly string[];
}
