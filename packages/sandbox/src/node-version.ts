// Imported first by every entry: an older Node.js would fail later, somewhere else, for a reason that nobody understands.

/** The major version of Node.js that this package is made for. */
const NEEDED = 24;

if (Number(process.versions.node.split('.')[0]) < NEEDED) {
  throw new Error(`Heddle needs Node.js ${NEEDED} or newer; this is ${process.version}.`);
}

export {};
