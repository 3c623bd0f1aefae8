import { describe, expect, it } from 'vitest';
import { LATE_JOBS, relieve } from './placement.ts';

function process(fields: Partial<Parameters<typeof relieve>[1]> = {}) {
  return { lane: 't', ready: true, retiring: false, runs: new Set<string>(), late: 0, ...fields };
}

const late = () => process({ runs: new Set(['run']), late: LATE_JOBS });

describe('a process whose jobs come faster than it makes contexts', () => {
  it('takes turns with another of its tenant', () => {
    const [slot, stranger, leaving, helper] = [
      late(),
      process({ lane: 'u' }),
      process({ retiring: true }),
      process(),
    ];
    expect(relieve([slot, stranger, leaving, helper], slot, 'run')).toBe(false);
    expect([stranger, leaving, helper].map(({ runs }) => runs.has('run'))).toEqual([false, false, true]);
    expect(slot.late).toBe(0);
  });

  it('gets a new one where all of its tenant help already', () => {
    const slot = late();
    expect(relieve([slot, process({ lane: 'u' }), process({ runs: new Set(['run']) })], slot, 'run')).toBe(
      true,
    );
  });

  it('waits for one that is starting', () => {
    const [slot, starting] = [late(), process({ ready: false })];
    expect(relieve([slot, starting], slot, 'run')).toBe(false);
    expect(starting.runs.size).toBe(0);
  });

  it('gets no help before it is late often enough, for a run that was released, or when it ends', () => {
    const helper = process();
    const seldom = process({ runs: new Set(['run']), late: LATE_JOBS - 1 });
    expect(relieve([seldom, helper], seldom, 'run')).toBe(false);
    const released = process({ late: LATE_JOBS });
    expect(relieve([released, helper], released, 'run')).toBe(false);
    const ending = { ...late(), retiring: true };
    expect(relieve([ending, helper], ending, 'run')).toBe(false);
    expect(relieve([ending], ending, 'run')).toBe(false);
    expect(helper.runs.size).toBe(0);
  });
});
