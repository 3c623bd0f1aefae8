// Imported first by every entry: an older Node.js would fail later, somewhere else, for a reason that nobody understands.

/** The major version of Node.js that the packages are made for. */
const NEEDED = 24;

interface Host {
  process?: { versions?: { node?: string } };
}

/** Undefined where the host is no Node.js: in a browser, or inside Temporal's workflows. */
const version = (globalThis as Host).process?.versions?.node;

if (version !== undefined && Number(version.split('.')[0]) < NEEDED) {
  throw new Error(`Heddle needs Node.js ${NEEDED} or newer; this is v${version}.`);
}

export {};
