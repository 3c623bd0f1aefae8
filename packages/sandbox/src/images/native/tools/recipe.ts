/** How the files of a tool become programs. */
export type ToolInstall =
  /** A package of npm, with the digests of its lockfile. */
  | { readonly from: 'npm'; readonly name: string; readonly programs: readonly string[] }
  /** A package of PyPI, with the digests of its index. */
  | { readonly from: 'pypi'; readonly name: string; readonly programs: readonly string[] }
  /** A file of the publisher, checked against `sha256`. Program → path in the archive; of a binary the path means nothing. */
  | {
      readonly from: 'download';
      readonly format: 'binary' | 'tar.gz' | 'zip';
      readonly programs: Readonly<Record<string, string>>;
    };

/** How one command-line tool is installed. A change of a recipe is a new revision, and a new id. */
export interface Recipe {
  readonly id: string;
  readonly version: string;
  readonly revision: number;
  /** Where it comes from: the file for x86-64, or the package's page. */
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
