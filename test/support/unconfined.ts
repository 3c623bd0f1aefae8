import type { Confinement } from '../../packages/sandbox/src/isolation/confine.ts';

/** The confinement of processes on a host without tools for it. It starts fastest, for tests that are not about confinement. */
export const UNCONFINED: Confinement = {
  level: 'basic',
  tools: { bubblewrap: undefined, setpriv: undefined, prlimit: undefined },
  uids: undefined,
};
