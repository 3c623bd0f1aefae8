import { describe, expect, it } from 'vitest';
import { dataFolder } from '../../support/data-folder.ts';
import { describeTemporal } from '../../support/temporal.ts';
import { replayFaults } from '../replay/histories-of.ts';
import { keep, keptNames, machineIn, readKept, record, replayable, tidy } from './record.ts';
import { SUBJECTS } from './subjects.ts';
import type { Subject } from './subjects.ts';

const RECORDS = process.env['HEDDLE_RECORD_HISTORIES'] === '1';

/** The remedy for a failure of these tests. */
const BROKEN =
  'The workflow code of this checkout sends other commands than the code that started the run: runs in flight would stop when workers are updated. Keep the old behaviour for runs that have already started, by a version step, and add histories of the new behaviour: see CONTRIBUTING.md, "Golden histories".';

describeTemporal('golden histories', (server) => {
  it.runIf(RECORDS)(
    'are recorded again',
    async () => {
      for (const subject of SUBJECTS) keep(subject.name, await record(server, subject, dataFolder()));
      tidy(SUBJECTS);
      expect(keptNames()).toHaveLength(SUBJECTS.length);
    },
    300_000,
  );

  it.runIf(!RECORDS)('can be recorded', async () => {
    const histories = await record(server, SUBJECTS[0] as Subject, dataFolder());
    expect(await replayFaults(histories)).toEqual([]);
  });
});

// These need no server.
describe('golden histories', () => {
  it.each(keptNames())(
    '%s: an earlier run replays; otherwise the change of workflow code needs a version step',
    async (name) => {
      expect(await replayFaults(replayable(readKept(name))), BROKEN).toEqual([]);
    },
  );

  it('exist for every subject', () => {
    expect(keptNames()).toEqual(SUBJECTS.map(({ name }) => name).toSorted());
    expect(readKept('continued').length).toBeGreaterThan(1);
    expect(readKept('child').length).toBe(2);
  });

  it('have no data of the machine that recorded them', () => {
    const names = keptNames();
    expect(names.filter((name) => machineIn(JSON.stringify(readKept(name))) !== undefined)).toEqual([]);
  });

  it('do not replay if the workflow code behaves differently', async () => {
    const kept = readKept('retries');
    const { events } = kept[0]!.history;
    const [scheduled] = events.flatMap((event) => event['activityTaskScheduledEventAttributes'] ?? []);
    Object.assign(scheduled!, { activityType: { name: 'other' } });
    expect((await replayFaults(replayable(kept)))[0]).toMatch(/nondeterminism/i);
  });
});
