import type { Confinement } from '../../packages/sandbox/src/isolation/confine.ts';

/** The confinement on a host without tools for it: processes start fastest. For tests that do not test confinement. */
export const UNCONFINED: Confinement = {
  level: 'basic',
  tools: { bubblewrap: undefined, setpriv: undefined, prlimit: undefined },
  uids: undefined,
};
