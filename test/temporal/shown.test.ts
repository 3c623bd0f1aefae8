import { expect, it } from 'vitest';
import { Script, work } from '../support/scripted.ts';
import { describeTemporal } from '../support/temporal.ts';
import { block, workflow } from '../support/workflow.ts';
import { clientOf } from './history.ts';
import { placeOn } from './worker-place.ts';

describeTemporal('the server’s status of a run that the engine cancelled', (server) => {
  const shown = async (runId: string): Promise<string> => {
    const handle = (await clientOf(server)).workflow.getHandle(runId);
    // The run's record is written before its workflow ends on the server.
    await handle.result().catch(() => undefined);
    return (await handle.describe()).status.name;
  };

  it('is cancelled', async () => {
    const script = new Script();
    const place = placeOn(server);
    const engine = await place.engine({ blocks: [script.executor] });
    await place.worker({ blocks: [script.executor] });
    const { runId } = await engine.start({ workflow: workflow([work('A')], ['Start -> A']) });
    await script.called('A');
    expect(await engine.cancel(runId)).toBe(true);
    expect(await shown(runId)).toBe('CANCELLED');
    expect(await engine.getRun(runId)).toMatchObject({ status: 'cancelled' });
  });

  it('is cancelled for a paused run, and for a run whose caller disconnected before its start', async () => {
    const place = placeOn(server);
    const engine = await place.engine();
    await place.worker();
    const asked = { workflow: workflow([block('H', 'human_in_the_loop')], ['Start -> H']) };
    const paused = await engine.start(asked);
    await paused.result();
    expect(await engine.cancel(paused.runId)).toBe(true);
    const gone = await engine.start(asked, {}, { signal: AbortSignal.abort() });
    await gone.result();
    expect([await shown(paused.runId), await shown(gone.runId)]).toEqual(['CANCELLED', 'CANCELLED']);
  });
});
