// Every entry point imports this file first. Without it, an older Node.js would fail later with an unclear error.

/** The major version of Node.js that the packages require. */
const REQUIRED_MAJOR_VERSION = 24;

interface GlobalWithProcess {
  process?: { versions?: { node?: string } };
}

/** Undefined outside Node.js: in browsers and inside Temporal workflows. */
const version = (globalThis as GlobalWithProcess).process?.versions?.node;

if (version !== undefined && Number(version.split('.')[0]) < REQUIRED_MAJOR_VERSION) {
  throw new Error(`Heddle needs Node.js ${REQUIRED_MAJOR_VERSION} or newer; this is v${version}.`);
}

export {};
