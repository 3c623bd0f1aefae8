// Every entry point imports this first: an older Node.js would fail later, with an error that explains nothing.

/** The major version of Node.js that the packages require. */
const NEEDED = 24;

interface Host {
  process?: { versions?: { node?: string } };
}

/** Undefined outside of Node.js: in a browser, or inside Temporal workflows. */
const version = (globalThis as Host).process?.versions?.node;

if (version !== undefined && Number(version.split('.')[0]) < NEEDED) {
  throw new Error(`Heddle needs Node.js ${NEEDED} or newer; this is v${version}.`);
}

export {};
