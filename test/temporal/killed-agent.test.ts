import { expect, it } from 'vitest';
import { COUNTING, counting, play } from '../agents/killed.ts';
import { describeTemporal } from '../support/temporal.ts';
import { placeOn } from './worker-place.ts';

describeTemporal('an agent whose worker is killed in its fourth call of a tool', (server) => {
  it('repeats that call on another worker, and no other call of a tool or model', async () => {
    const { common, calls, expectOneRepeated } = await counting();
    const place = placeOn(server);
    const { address, namespace } = server;
    const worker = { address, namespace, queue: place.queue, data: place.data };
    const engine = await place.engine();
    const run = await engine.start({ workflow: COUNTING });
    expect(await play({ worker, ...common, stop: '4' }).last).toBe('4');
    expect(calls()).toBe(4);
    const other = play({ worker, ...common });
    const { output } = await run.result();
    expectOneRepeated(output);
    other.end();
    expect(await other.last).toBe('4');
  });
});
