import { describe, expect, it } from 'vitest';
import { dataFolder } from '../../support/data-folder.ts';
import { describeTemporal } from '../../support/temporal.ts';
import { replayErrors } from '../replay/histories.ts';
import {
  findMachineData,
  readStored,
  recordHistories,
  removeUnused,
  toRunHistories,
  storedNames,
  storeHistories,
} from './record.ts';
import { TEST_WORKFLOWS } from './test-workflows.ts';
import type { TestWorkflow } from './test-workflows.ts';

const isRecording = process.env['HEDDLE_RECORD_HISTORIES'] === '1';

/** What to do after a failure of these tests. */
const HINT =
  'The workflow code of this checkout sends other commands than the code that started the run. Runs in flight would stop when workers are updated. Keep the old behaviour for runs that have already started, by a version step, and add histories of the new behaviour: see CONTRIBUTING.md, "Golden histories".';

describeTemporal('golden histories', (server) => {
  it.runIf(isRecording)(
    'are recorded again',
    async () => {
      for (const testWorkflow of TEST_WORKFLOWS)
        storeHistories(testWorkflow.name, await recordHistories(server, testWorkflow, dataFolder()));
      removeUnused(TEST_WORKFLOWS);
      expect(storedNames()).toHaveLength(TEST_WORKFLOWS.length);
    },
    300_000,
  );

  it.runIf(!isRecording)('can be recorded', async () => {
    const histories = await recordHistories(server, TEST_WORKFLOWS[0] as TestWorkflow, dataFolder());
    expect(await replayErrors(histories)).toEqual([]);
  });
});

// These need no server.
describe('golden histories', () => {
  it.each(storedNames())(
    '%s: an earlier run can be replayed; otherwise the change of workflow code needs a version step',
    async (name) => {
      expect(await replayErrors(toRunHistories(readStored(name))), HINT).toEqual([]);
    },
  );

  it('exist for every test workflow', () => {
    expect(storedNames()).toEqual(TEST_WORKFLOWS.map(({ name }) => name).toSorted());
    expect(readStored('continued').length).toBeGreaterThan(1);
    expect(readStored('child').length).toBe(2);
  });

  it('have no data of the machine that recorded them', () => {
    const names = storedNames();
    expect(names.filter((name) => findMachineData(JSON.stringify(readStored(name))) !== undefined)).toEqual(
      [],
    );
  });

  it('do not replay if the workflow code behaves differently', async () => {
    const stored = readStored('retries');
    const { events } = stored[0]!.history;
    const [scheduled] = events.flatMap((event) => event['activityTaskScheduledEventAttributes'] ?? []);
    Object.assign(scheduled!, { activityType: { name: 'other' } });
    expect((await replayErrors(toRunHistories(stored)))[0]).toMatch(/nondeterminism/i);
  });
});
