import { createEngine } from '@heddle/engine';
import { temporal } from '@heddle/temporal';
import { expectResult } from '../workload.ts';
import { stepsExecuted, planOf, STEPS } from './graphs.ts';
import type { ProcessSetup, Contender } from './contender.ts';

/** Opens Heddle in an embedding program: `engine.execute`, with journal, record and logs in a data folder. */
export async function open({ server, queue, data, client, roles, mode }: ProcessSetup): Promise<Contender> {
  const { localSegments = true, checkpoint = 'segment', cachedWorkflows } = mode;
  const engine = await createEngine({
    blocks: [...STEPS],
    runtime: temporal({
      ...server,
      taskQueue: queue,
      data,
      localSegments,
      checkpoint,
      worker: roles.length > 0 && { roles, ...(cachedWorkflows !== undefined && { cachedWorkflows }) },
    }),
  });
  return {
    run: async (job) => {
      if (!client) throw new Error('This process has no client.');
      const { status, output } = await engine.execute({ plan: planOf(job) }, {});
      expectResult(status, 'completed');
      expectResult(stepsExecuted(job, output), job.graph === 'empty' ? 0 : job.size);
    },
    startPausedRun: async () => {
      const { status } = await engine.execute({ plan: planOf({ graph: 'pause', size: 1 }) }, {});
      expectResult(status, 'paused');
    },
    close: () => engine.close({ graceMs: 0 }),
  };
}
