import type { Confinement } from '../../packages/sandbox/src/isolation/confine.ts';

/** Processes as a host without any tool for it confines them: it starts the fastest, where the test is of something else. */
export const UNCONFINED: Confinement = {
  level: 'basic',
  tools: { bubblewrap: null, setpriv: null, prlimit: null },
  uids: null,
};
