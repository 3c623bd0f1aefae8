import { bundleGuest, bundleProgram, bundleShims } from './guest-bundle.mjs';

// The guest: everything that is put into the snapshot which contexts of user code start from.
const parts = {};
const lean = await bundleGuest('src/guest/main.ts', { parts });

await bundleProgram('src/child/main.ts', 'dist/child.cjs', {
  GUEST_SOURCE: JSON.stringify(lean),
  GUEST_PARTS: JSON.stringify(parts),
});

// What loads the packages of an image, once, within the limits of a run. Packages use more of the guest than most code does,
// and use it while there is no process to ask: all of it is in their snapshots.
const guest = await bundleGuest('src/guest/main.ts');

await bundleProgram('src/child/image.ts', 'dist/image.cjs', { GUEST_SOURCE: JSON.stringify(guest) });

// Node's builtins for bundles of packages, each evaluated at its first use.
await bundleShims('src/guest/node/shims.ts', 'dist/shims.cjs');

// What a process of the sandbox must not be able to do; run where the host is probed.
await bundleProgram('src/child/self-test.ts', 'dist/self-test.cjs', {});

await import('./native-bundle.mjs');

// After the rest: it starts what was built.
await import('./python-bundle.mjs');
