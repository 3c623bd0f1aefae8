#!/usr/bin/env node
// Committed, so that npm links it before the build has run; the command line itself is the built bundle.
import { existsSync } from 'node:fs';
import module from 'node:module';
import { dirname, join } from 'node:path';

const MIN_NODE = 24;
const entry = new URL('../dist/index.js', import.meta.url);

/** The Node executable of the npm package `node`, or undefined if it is not installed. */
function findPinnedNode() {
  try {
    const packageFile = module.createRequire(import.meta.url).resolve('node/package.json');
    const file = join(dirname(packageFile), 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    return existsSync(file) ? file : undefined;
  } catch {
    return undefined;
  }
}

function fail(message) {
  process.stderr.write(`heddle: ${message}\n`);
  process.exitCode = 2;
}

if (Number(process.versions.node.split('.', 1)[0]) < MIN_NODE) {
  const node = findPinnedNode();
  if (node) {
    const { runOn } = await import('./run-on.js');
    runOn(node, fail);
  } else
    fail(
      `needs Node ${MIN_NODE} or newer; this is ${process.version}. Install it, or add the npm package "node".`,
    );
} else if (!existsSync(entry)) {
  fail('is not built yet. Run "npm run build" in the repository.');
} else {
  module.enableCompileCache();
  const { main } = await import(entry.href);
  process.exitCode = await main(process.argv.slice(2));
}
