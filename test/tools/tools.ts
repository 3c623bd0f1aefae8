/** How one system tool is recognised and obtained; `routes` are tried in order after PATH and cache. */
export interface Tool {
  /** The executable's name. */
  readonly command: string;
  /** Names of other executables that serve as well. */
  readonly alternatives?: readonly string[];
  /** Arguments that exit with 0 where the tool works on this machine. */
  readonly check: readonly string[];
  /** Folders below the root of a system that may contain it although they are not on PATH. */
  readonly folders?: readonly string[];
  readonly routes: readonly Route[];
}

/** Debian packages to download and unpack. `dependencies`: also all that they depend on and the machine does not have. */
export interface AptRoute {
  readonly apt: readonly string[];
  readonly dependencies?: boolean;
}

/** Debian packages, a Go package (`path@version`) or a Python one (`name==version`) to install. */
export type Route = AptRoute | { readonly go: string } | { readonly pip: string };

/** Eager starts of workflows need at least 1.29. */
const TEMPORAL_SERVER = 'v1.31.2';

/** The system tools that tests use. Nothing else may be asked of a machine beside Node and npm. */
export const TOOLS: Readonly<Record<string, Tool>> = {
  bubblewrap: {
    command: 'bwrap',
    check: ['--unshare-all', '--ro-bind', '/', '/', '/bin/true'],
    routes: [{ apt: ['bubblewrap', 'libcap2', 'libselinux1', 'libpcre2-8-0'] }],
  },
  postgres: {
    command: 'postgres',
    check: ['--version'],
    folders: [17, 16, 15, 14].map((version) => `usr/lib/postgresql/${version}/bin`),
    // With the libraries that a bare Debian does not have; those of its compiler to machine code are not needed.
    routes: [
      {
        apt: [
          'postgresql-15',
          'libpq5',
          'libicu72',
          'libssl3',
          'libxml2',
          'libldap-2.5-0',
          'libsasl2-2',
          'libgssapi-krb5-2',
          'libkrb5-3',
          'libk5crypto3',
          'libkrb5support0',
          'libkeyutils1',
          'libcom-err2',
        ],
      },
    ],
  },
  chromium: {
    command: 'chromium',
    alternatives: ['chromium-headless-shell'],
    check: ['--version'],
    // The scripts in usr/bin start what the machine has, not what was unpacked.
    folders: ['usr/lib/chromium'],
    // Without windows it needs a third of the packages. A bare Debian has no fonts.
    routes: [
      {
        apt: ['chromium-headless-shell', 'fontconfig-config', 'fonts-dejavu-core'],
        dependencies: true,
      },
    ],
  },
  nginx: {
    command: 'nginx',
    check: ['-v'],
    folders: ['usr/sbin'],
    routes: [{ apt: ['nginx', 'nginx-common'], dependencies: true }],
  },
  // With all that it needs of its system; where it does not stand, the page of its calls is not run.
  curl: { command: 'curl', check: ['--version'], routes: [] },
  schemathesis: {
    command: 'schemathesis',
    // Version 3 has no such option.
    check: ['run', '--max-time', '1', '--help'],
    routes: [{ pip: 'schemathesis==4.32.5' }],
  },
  versitygw: {
    command: 'versitygw',
    check: ['--version'],
    routes: [{ go: 'github.com/versity/versitygw/cmd/versitygw@v1.8.0' }],
  },
  // Their names are common, so each is checked by a command that no other program of that name has.
  'temporal-server': {
    command: 'server',
    check: ['validate-dynamic-config', '--help'],
    routes: [{ go: `go.temporal.io/server/cmd/server@${TEMPORAL_SERVER}` }],
  },
  'temporal-sql': {
    command: 'sql',
    check: ['update-schema', '--help'],
    routes: [{ go: `go.temporal.io/server/cmd/tools/sql@${TEMPORAL_SERVER}` }],
  },
};
