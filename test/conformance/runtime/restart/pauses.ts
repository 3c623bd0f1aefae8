import { expect, it } from 'vitest';
import { block, fn, workflow } from '../../../support/workflow.ts';
import type { EngineSequence } from './engine-sequence.ts';

const human = (name: string) => block(name, 'human_in_the_loop', {});

/** Defines the tests of paused runs: their answers across a restart, and their eviction from memory. */
export function describePausedRuns(makeEngines: () => EngineSequence): void {
  it('a paused run is resumed as the same run with the same plan after later deployments', async () => {
    const engines = makeEngines();
    const before = await engines.next();
    const workflowWith = (code: string) =>
      workflow([human('H'), fn('Z', code)], ['Start -> H -> Z'], { id: 'w' });
    await before.deploy(workflowWith('return "old " + <h.note>'));
    const run = await before.start('w');
    expect(await run.result()).toMatchObject({ status: 'paused' });
    const token = (await before.getRun(run.runId)).pauses[0]?.token ?? '';
    const after = await engines.next();
    expect(await after.deploy(workflowWith('return "new"'))).toMatchObject({ version: 2 });
    expect((await after.getRun(run.runId)).pauses[0]?.token).toBe(token);
    const result = await after.resume(run.runId, { token, input: { note: 'answer' } });
    expect(result).toMatchObject({ runId: run.runId, status: 'completed', output: { result: 'old answer' } });
  });

  it('a resume can be repeated in every later engine, and returns the first result', async () => {
    const engines = makeEngines();
    const before = await engines.next();
    const definition = workflow([human('H'), human('I'), fn('Z', 'return <h.n>')], ['Start -> H -> I -> Z']);
    const run = await before.start({ workflow: definition });
    await run.result();
    const token = (await before.getRun(run.runId)).pauses[0]?.token ?? '';
    expect(await before.resume(run.runId, { token, input: { n: 1 } })).toMatchObject({ status: 'paused' });
    const second = await engines.next();
    expect(await second.resume(run.runId, { token, input: { n: 2 } })).toMatchObject({ status: 'paused' });
    expect((await second.getRun(run.runId)).pauses).toMatchObject([{ blockName: 'I' }]);
    expect(await second.resume(run.runId, { input: {} })).toMatchObject({ output: { result: 1 } });
    const third = await engines.next();
    expect(await third.resume(run.runId, { token, input: { n: 3 } })).toMatchObject({
      status: 'completed',
      output: { result: 1 },
    });
  });

  it('many paused runs can be evicted from memory, and continue when they are resumed', async () => {
    const engines = makeEngines();
    const engine = await engines.next();
    const source = { workflow: workflow([human('H'), fn('Z', 'return <h.n>')], ['Start -> H -> Z']) };
    const handles = [];
    for (let n = 0; n < 80; n++) handles.push(await engine.start(source));
    for (const handle of handles) expect(await handle.result()).toMatchObject({ status: 'paused' });
    for (const [n, handle] of handles.entries()) {
      await engine.resume(handle.runId, { input: { n } });
      expect(await handle.result()).toMatchObject({ status: 'completed', output: { result: n } });
    }
  });
}
