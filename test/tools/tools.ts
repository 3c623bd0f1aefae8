/**
 * How to find and install one system tool. If it is neither on PATH nor in the cache, the install methods are tried in
 * order.
 */
export interface Tool {
  /** The executable's name. */
  readonly command: string;
  /** Names of other executables that can be used instead. */
  readonly alternatives?: readonly string[];
  /** Arguments with which the tool exits with 0 if it works on this machine. */
  readonly checkArgs: readonly string[];
  /** Folders, relative to the root of a system, that may contain the tool although they are not on PATH. */
  readonly folders?: readonly string[];
  readonly installMethods: readonly InstallMethod[];
}

/** Debian packages to download and unpack, with missing dependencies if `dependencies` is true. */
export interface AptInstall {
  readonly apt: readonly string[];
  readonly dependencies?: boolean;
}

/** Debian packages, a Go package (`path@version`) or a Python one (`name==version`) to install. */
export type InstallMethod = AptInstall | { readonly go: string } | { readonly pip: string };

/** The eager start of workflows needs at least version 1.29. */
const TEMPORAL_SERVER = 'v1.31.2';

/** The system tools that tests use. Apart from these, tests may need only Node and npm on a machine. */
export const TOOLS: Readonly<Record<string, Tool>> = {
  bubblewrap: {
    command: 'bwrap',
    checkArgs: ['--unshare-all', '--ro-bind', '/', '/', '/bin/true'],
    installMethods: [{ apt: ['bubblewrap', 'libcap2', 'libselinux1', 'libpcre2-8-0'] }],
  },
  postgres: {
    command: 'postgres',
    checkArgs: ['--version'],
    folders: [17, 16, 15, 14].map((version) => `usr/lib/postgresql/${version}/bin`),
    // Includes the libraries that a bare Debian does not have, except those of PostgreSQL's JIT compiler, which tests
    // do not need.
    installMethods: [
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
    checkArgs: ['--version'],
    // The scripts in usr/bin start the program of the machine, not the unpacked program.
    folders: ['usr/lib/chromium'],
    // The headless variant needs a third of the packages. A bare Debian has no fonts.
    installMethods: [
      {
        apt: ['chromium-headless-shell', 'fontconfig-config', 'fonts-dejavu-core'],
        dependencies: true,
      },
    ],
  },
  nginx: {
    command: 'nginx',
    checkArgs: ['-v'],
    folders: ['usr/sbin'],
    installMethods: [{ apt: ['nginx', 'nginx-common'], dependencies: true }],
  },
  // curl is not downloaded: on a machine without it, the tests of the page with curl commands are skipped.
  curl: { command: 'curl', checkArgs: ['--version'], installMethods: [] },
  schemathesis: {
    command: 'schemathesis',
    // Version 3 does not have the option --max-time.
    checkArgs: ['run', '--max-time', '1', '--help'],
    installMethods: [{ pip: 'schemathesis==4.32.5' }],
  },
  versitygw: {
    command: 'versitygw',
    checkArgs: ['--version'],
    installMethods: [{ go: 'github.com/versity/versitygw/cmd/versitygw@v1.8.0' }],
  },
  // These names are common, so each tool is checked by a command that other programs with the same name do not have.
  'temporal-server': {
    command: 'server',
    checkArgs: ['validate-dynamic-config', '--help'],
    installMethods: [{ go: `go.temporal.io/server/cmd/server@${TEMPORAL_SERVER}` }],
  },
  'temporal-sql': {
    command: 'sql',
    checkArgs: ['update-schema', '--help'],
    installMethods: [{ go: `go.temporal.io/server/cmd/tools/sql@${TEMPORAL_SERVER}` }],
  },
};
