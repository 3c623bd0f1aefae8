/** How one system tool is recognised and obtained; `routes` are tried in order after PATH and cache. */
export interface Tool {
  /** The executable's name. */
  readonly command: string;
  /** Arguments that exit with 0 where the tool works on this machine. */
  readonly check: readonly string[];
  readonly routes: readonly Route[];
}

/** Debian packages to download and unpack, or a Go package (`path@version`) to install. */
export type Route = { readonly apt: readonly string[] } | { readonly go: string };

/** The system tools that tests use. Nothing else may be asked of a machine beside Node and npm. */
export const TOOLS: Readonly<Record<string, Tool>> = {
  bubblewrap: {
    command: 'bwrap',
    check: ['--unshare-all', '--ro-bind', '/', '/', '/bin/true'],
    routes: [{ apt: ['bubblewrap', 'libcap2', 'libselinux1', 'libpcre2-8-0'] }],
  },
};
