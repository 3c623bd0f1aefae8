import { describe, expect, it } from 'vitest';
import {
  MEMORY_POINTS,
  startProcess,
  startRememberingModel,
  CONVERSATION_WORKFLOW,
} from '../agents/killable-process.ts';
import { describeMemories } from '../conformance/runtime/memories.ts';
import { describeTemporal } from '../support/temporal.ts';
import { runtimeOn } from './runtime.ts';
import { createCluster } from './cluster.ts';

describeTemporal('agents with a memory', (server) => {
  describeMemories((whenDone) => runtimeOn(server, whenDone));

  describe('whose worker is killed after the answer of the model', () => {
    it.each(MEMORY_POINTS)(
      'at the point "%s", %s, have the exchange in the conversation once',
      async (stop, _when, calls) => {
        const { common, expectOneExchange } = await startRememberingModel();
        const cluster = createCluster(server);
        const { address, namespace } = server;
        const worker = { address, namespace, taskQueue: cluster.queue, data: cluster.data };
        const engine = await cluster.engine();
        const run = await engine.start({ workflow: CONVERSATION_WORKFLOW }, { question: 'one' });
        expect(await startProcess({ worker, ...common, question: 'one', stop }).lastLine).toBe(stop);
        const other = startProcess({ worker, ...common, question: 'two' });
        const { output } = await run.result();
        await engine.execute({ workflow: CONVERSATION_WORKFLOW }, { question: 'two' });
        expectOneExchange(output, calls);
        other.end();
        await other.lastLine;
      },
    );
  });
});
