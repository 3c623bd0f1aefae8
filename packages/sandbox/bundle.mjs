import { bundleGuest, bundleProgram, bundleShims } from './guest-bundle.mjs';

// The guest: everything that is put into the snapshot which contexts of user code start from.
const guest = await bundleGuest('src/guest/main.ts');

await bundleProgram('src/child/main.ts', 'dist/child.cjs', { GUEST_SOURCE: JSON.stringify(guest) });

// What loads the packages of an image, once, within the limits of a run.
await bundleProgram('src/child/image.ts', 'dist/image.cjs', { GUEST_SOURCE: JSON.stringify(guest) });

// Node's builtins for bundles of packages, each evaluated at its first use.
await bundleShims('src/guest/node/shims.ts', 'dist/shims.cjs');

// What a process of the sandbox must not be able to do; run where the host is probed.
await bundleProgram('src/child/self-test.ts', 'dist/self-test.cjs', {});

await import('./native-bundle.mjs');

// After the rest: it starts what was built.
await import('./python-bundle.mjs');
