import { bundleGuest, bundleProgram, bundleShims } from './guest-bundle.mjs';

// The guest: everything in the snapshot from which contexts of user code start.
const chunks = {};
const guest = await bundleGuest('src/guest/main.ts', { chunks });

await bundleProgram('src/child/main.ts', 'dist/child.cjs', {
  GUEST_SOURCE: JSON.stringify(guest),
  GUEST_CHUNKS: JSON.stringify(chunks),
});

// A program that loads the packages of an image once, within the limits of a run. Packages use more of the guest than
// most code does, and use it before a process is connected, so their snapshots contain all of it.
const wholeGuest = await bundleGuest('src/guest/main.ts');

await bundleProgram('src/child/image.ts', 'dist/image.cjs', { GUEST_SOURCE: JSON.stringify(wholeGuest) });

// Node.js builtins for bundles of packages, each evaluated at its first use.
await bundleShims('src/guest/node/shims.ts', 'dist/shims.cjs');

// A program that attempts what a sandbox process must not be able to do. It runs when the host is probed.
await bundleProgram('src/child/self-test.ts', 'dist/self-test.cjs', {});

await import('./native-bundle.mjs');

// Last, because it runs the built files.
await import('./python-bundle.mjs');
