/** A file of the publisher, checked against its SHA-256. Program → path in the archive; of a binary the path means nothing. */
export interface Download {
  readonly from: 'download';
  readonly format: 'binary' | 'tar.gz' | 'zip';
  readonly programs: Readonly<Record<string, string>>;
}

/** A module of a Go module proxy, with the sum of its files as `go.sum` has it. */
export interface GoModule {
  readonly path: string;
  readonly version: string;
  /** `h1:…` */
  readonly sum: string;
}

/** A module whose sources are compiled, and the folder that they stand in. */
export interface GoSource extends GoModule {
  readonly folder: string;
}

/** Programs that are compiled from modules of Go. */
export interface GoInstall {
  readonly from: 'go';
  /** First the module that is compiled, then those that it replaces by folders beside it. All others are of its `go.sum`. */
  readonly modules: readonly [GoSource, ...GoSource[]];
  /** Program → its package in the first module. */
  readonly programs: Readonly<Record<string, string>>;
  /** What the linker sets: variable with its package → text without spaces. */
  readonly variables: Readonly<Record<string, string>>;
  /** Files of ours, where a module is only a library: path in the first module → text. */
  readonly files?: Readonly<Record<string, string>>;
  /** The publisher's program, for operators who have its checksum. */
  readonly published: Download;
}

/** How the files of a tool become programs. */
export type ToolInstall =
  /** A package of npm, with the digests of its lockfile. */
  | { readonly from: 'npm'; readonly name: string; readonly programs: readonly string[] }
  /** A package of PyPI, with the digests of its index. */
  | { readonly from: 'pypi'; readonly name: string; readonly programs: readonly string[] }
  | GoInstall
  | Download;

/** How one command-line tool is installed. A change of a recipe is a new revision, and a new id. */
export interface Recipe {
  readonly id: string;
  readonly version: string;
  readonly revision: number;
  /** Where it comes from: the publisher's file for x86-64, or the package's page. */
  readonly url: string;
  /**
   * Of the file, computed from it or copied from what its publisher says; null where nobody has vouched for it yet, and always
   * where a registry has digests of its own.
   */
  readonly sha256: string | null;
  readonly install: ToolInstall;
  /** The command that has to end with 0 in the image, without network. */
  readonly verify: readonly string[];
}
