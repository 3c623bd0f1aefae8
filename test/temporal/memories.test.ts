import { describe, expect, it } from 'vitest';
import { MEMORY_POINTS, play, remembering, REMEMBERING } from '../agents/killed.ts';
import { describeMemories } from '../conformance/runtime/memories.ts';
import { describeTemporal } from '../support/temporal.ts';
import { onServer } from './runtime.ts';
import { clusterOn } from './cluster.ts';

describeTemporal('agents with a memory', (server) => {
  describeMemories((whenDone) => onServer(server, whenDone));

  describe('whose worker is killed after the answer of the model', () => {
    it.each(MEMORY_POINTS)(
      'stopped at "%s", %s: the conversation has the exchange once',
      async (stop, _when, calls) => {
        const { common, expectOneExchange } = await remembering();
        const cluster = clusterOn(server);
        const { address, namespace } = server;
        const worker = { address, namespace, taskQueue: cluster.queue, data: cluster.data };
        const engine = await cluster.engine();
        const run = await engine.start({ workflow: REMEMBERING }, { question: 'one' });
        expect(await play({ worker, ...common, question: 'one', stop }).last).toBe(stop);
        const other = play({ worker, ...common, question: 'two' });
        const { output } = await run.result();
        await engine.execute({ workflow: REMEMBERING }, { question: 'two' });
        expectOneExchange(output, calls);
        other.end();
        await other.last;
      },
    );
  });
});
