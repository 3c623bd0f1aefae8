// Imported first by every entry point: an older Node.js would otherwise fail later with an unrelated error.

/** Minimum major version of Node.js. */
const MIN_MAJOR = 24;

if (Number(process.versions.node.split('.')[0]) < MIN_MAJOR) {
  throw new Error(`Heddle needs Node.js ${MIN_MAJOR} or newer; this is ${process.version}.`);
}

export {};
