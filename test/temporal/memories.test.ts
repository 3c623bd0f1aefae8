import { describe, expect, it } from 'vitest';
import {
  MEMORY_STOP_POINTS,
  startProcess,
  startConversationModel,
  CONVERSATION_WORKFLOW,
} from '../agents/killable-process.ts';
import { describeMemories } from '../conformance/runtime/memories.ts';
import { describeTemporal } from '../support/temporal.ts';
import { createRuntime } from './runtime.ts';
import { createCluster } from './cluster.ts';

describeTemporal('agents with a memory', (server) => {
  describeMemories((registerCleanup) => createRuntime(server, registerCleanup));

  describe('whose worker is killed after the answer of the model', () => {
    it.each(MEMORY_STOP_POINTS)(
      'at the point "%s", %s, have the exchange in the conversation once',
      async (stopPoint, _description, callCount) => {
        const { commonOptions, expectOneExchange } = await startConversationModel();
        const cluster = createCluster(server);
        const { address, namespace } = server;
        const worker = { address, namespace, taskQueue: cluster.queue, data: cluster.data };
        const engine = await cluster.openEngine();
        const run = await engine.start({ workflow: CONVERSATION_WORKFLOW }, { question: 'one' });
        expect(await startProcess({ worker, ...commonOptions, question: 'one', stopPoint }).lastLine).toBe(
          stopPoint,
        );
        const otherProcess = startProcess({ worker, ...commonOptions, question: 'two' });
        const { output } = await run.result();
        await engine.execute({ workflow: CONVERSATION_WORKFLOW }, { question: 'two' });
        expectOneExchange(output, callCount);
        otherProcess.closeStdin();
        await otherProcess.lastLine;
      },
    );
  });
});
