import { describe, expect, it } from 'vitest';
import { createDataFolder } from '../../support/data-folder.ts';
import { describeTemporal } from '../../support/temporal.ts';
import { findReplayErrors } from '../replay/histories.ts';
import {
  findMachineData,
  readStoredHistories,
  recordHistories,
  removeUnusedHistories,
  toRunHistories,
  listStoredNames,
  storeHistories,
} from './record.ts';
import { TEST_WORKFLOWS } from './test-workflows.ts';
import type { TestWorkflow } from './test-workflows.ts';

const isRecording = process.env['HEDDLE_RECORD_HISTORIES'] === '1';

/** What to do after a failure of these tests. */
const HINT =
  'The workflow code of this checkout sends different commands than the code that started the run. Runs in flight would stop when workers are updated. Keep the old behaviour for runs that have already started, by a version step, and add histories of the new behaviour: see CONTRIBUTING.md, "Golden histories".';

describeTemporal('golden histories', (server) => {
  it.runIf(isRecording)(
    'are recorded again',
    async () => {
      for (const testWorkflow of TEST_WORKFLOWS)
        storeHistories(testWorkflow.name, await recordHistories(server, testWorkflow, createDataFolder()));
      removeUnusedHistories(TEST_WORKFLOWS);
      expect(listStoredNames()).toHaveLength(TEST_WORKFLOWS.length);
    },
    300_000,
  );

  it.runIf(!isRecording)('can be recorded', async () => {
    const histories = await recordHistories(server, TEST_WORKFLOWS[0] as TestWorkflow, createDataFolder());
    expect(await findReplayErrors(histories)).toEqual([]);
  });
});

// These need no server.
describe('golden histories', () => {
  it.each(listStoredNames())(
    '%s: an earlier run can be replayed; otherwise the change of workflow code needs a version step',
    async (name) => {
      expect(await findReplayErrors(toRunHistories(readStoredHistories(name))), HINT).toEqual([]);
    },
  );

  it('exist for every test workflow', () => {
    expect(listStoredNames()).toEqual(TEST_WORKFLOWS.map(({ name }) => name).toSorted());
    expect(readStoredHistories('continued').length).toBeGreaterThan(1);
    expect(readStoredHistories('child').length).toBe(2);
  });

  it('have no data of the machine that recorded them', () => {
    const names = listStoredNames();
    expect(
      names.filter((name) => findMachineData(JSON.stringify(readStoredHistories(name))) !== undefined),
    ).toEqual([]);
  });

  it('do not replay if the workflow code behaves differently', async () => {
    const storedHistories = readStoredHistories('retries');
    const { events } = storedHistories[0]!.history;
    const [scheduledAttributes] = events.flatMap(
      (event) => event['activityTaskScheduledEventAttributes'] ?? [],
    );
    Object.assign(scheduledAttributes!, { activityType: { name: 'other' } });
    expect((await findReplayErrors(toRunHistories(storedHistories)))[0]).toMatch(/nondeterminism/i);
  });
});
