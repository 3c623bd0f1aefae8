import { expect, it } from 'vitest';
import { createDataFolder } from '../../support/data-folder.ts';
import { describeTemporal } from '../../support/temporal.ts';
import { block, fn, workflow } from '../../support/workflow.ts';
import { audit } from './audit.ts';
import { openEnvironment } from './environment.ts';

const RUN_COUNT = 12;

describeTemporal('an answer to a pause', ({ address, namespace }) => {
  it('is not lost if it arrives in the same workflow task in which a child reports its pause to the parent', async () => {
    const { engine, stores } = await openEnvironment({
      address,
      namespace,
      store: { data: createDataFolder() },
      workerCount: 1,
    });
    await engine.deploy(
      workflow([block('H', 'human_in_the_loop', {})], ['Start -> H'], { id: 'answered-immediately' }),
    );
    const definition = workflow(
      [
        block('W', 'workflow_input', { workflowId: 'answered-immediately', inputMapping: '{}' }),
        fn('Z', 'return <w.result.n>'),
      ],
      ['Start -> W -> Z'],
    );
    const answeredTokens = new Set<string>();
    /** Answers each new pause. Returns the number of runs that have not ended. */
    const answerAll = async (): Promise<number> => {
      const { runs } = await engine.listRuns({ status: ['running', 'paused'], limit: 100 });
      const pauses = runs.flatMap(({ runId, pauses: openPauses }) =>
        openPauses.map(({ token }) => ({ runId, token })),
      );
      for (const { runId, token } of pauses.filter((pause) => !answeredTokens.has(pause.token))) {
        answeredTokens.add(token);
        // The caller of a refused answer gets an error and may retry.
        engine.resume(runId, { token, input: { n: 1 } }).catch(() => answeredTokens.delete(token));
      }
      return runs.length;
    };
    for (let count = 0; count < RUN_COUNT; count++) await engine.start({ workflow: definition });
    await expect.poll(answerAll, { timeout: 50_000, interval: 5 }).toBe(0);
    expect((await audit(stores)).problems).toEqual([]);
    expect((await engine.listRuns({ status: ['completed'], limit: 100 })).runs).toHaveLength(2 * RUN_COUNT);
  });
});
