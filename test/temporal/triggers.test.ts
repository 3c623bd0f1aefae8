import { randomUUID } from 'node:crypto';
import { createDataFolder } from '../support/data-folder.ts';
import { sampledSteps, sampledTests, pickByScale } from '../support/scale.ts';
import type { Steps } from '../support/scale.ts';
import { describeTemporal } from '../support/temporal.ts';
import { hasPostgres, createPostgresDatabase } from '../support/postgres.ts';
import { expectOneRunPerEventWhenKilledInTurn } from '../triggers/server-and-worker-steps.ts';
import { expectDeliveredOnceWhenKilled } from '../triggers/flow-kill-steps.ts';
import { expectOneRunPerItemWhenKilled } from '../triggers/feeds/kill-steps.ts';
import type { Backend } from '../triggers/trigger-process.ts';
import { expectOneRunPerEventWhenKilled, expectOneRunPerDueTimeWhenKilled } from '../triggers/kill-steps.ts';

interface KillCase {
  /** The steps at which the process is killed, as `from … to …`. */
  stepRange: string;
  /** In a quick run of the tests, the process is killed only at every `stride`th step. */
  stride: number;
  expectOneRun: (backend: Backend, steps: Steps) => Promise<void>;
}

const KILL_CASES: readonly KillCase[] = [
  {
    stepRange: 'from the due time of a schedule to its run',
    stride: 2,
    // The steps before the last four do not use the server.
    expectOneRun: (backend, { firstStep, stride }) =>
      expectOneRunPerDueTimeWhenKilled(backend, { stride, firstStep: firstStep + pickByScale(3, 0) }),
  },
  {
    stepRange: 'from a delivery to its run',
    stride: 5,
    expectOneRun: (backend, steps) => expectDeliveredOnceWhenKilled(backend, undefined, steps),
  },
  {
    stepRange: 'from a delivery to the run that flow control lets start',
    stride: 12,
    expectOneRun: (backend, steps) => expectDeliveredOnceWhenKilled(backend, { concurrency: 1 }, steps),
  },
  {
    stepRange: 'from the end of a run to the run of its event',
    stride: 6,
    expectOneRun: (backend, steps) => expectOneRunPerEventWhenKilled(backend, steps),
  },
  {
    stepRange: 'from the poll of a feed to the run of its item',
    stride: 9,
    expectOneRun: expectOneRunPerItemWhenKilled,
  },
];

describeTemporal('triggers', ({ address, namespace }) => {
  const share = 1 / (KILL_CASES.length + 1);
  const sampledIt = sampledTests(share, 'kinds of triggers whose process is killed on Temporal');

  for (const { stepRange, stride, expectOneRun } of KILL_CASES) {
    const steps = sampledSteps(stride, `steps ${stepRange} on Temporal`);
    sampledIt(
      `start exactly one run if their process is killed at any step ${stepRange}`,
      { timeout: pickByScale(300_000, 1_800_000) },
      async () => {
        const data = createDataFolder();
        const temporal = { address, namespace, taskQueue: `test-${randomUUID()}`, data };
        await expectOneRun({ store: { data }, engine: {}, temporal }, steps);
      },
    );
  }

  if (hasPostgres)
    sampledIt(
      'start exactly one run for each event if a server and a worker are killed in turn',
      { timeout: 600_000 },
      async () => {
        const postgres = await createPostgresDatabase();
        const temporal = { address, namespace, taskQueue: `test-${randomUUID()}`, data: createDataFolder() };
        await expectOneRunPerEventWhenKilledInTurn(
          { store: { postgres }, engine: {}, temporal },
          pickByScale(2, 12),
        );
      },
    );
});
