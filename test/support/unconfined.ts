import type { Confinement } from '../../packages/sandbox/src/isolation/confine.ts';

/**
 * The confinement on a host without tools for it. Processes start fastest with it, so tests that do not test
 * confinement use it.
 */
export const UNCONFINED: Confinement = {
  level: 'basic',
  tools: { bubblewrap: undefined, setpriv: undefined, prlimit: undefined },
  uids: undefined,
};
