import { expect, it } from 'vitest';
import { block, fn, workflow } from '../../../support/workflow.ts';
import type { EngineSequence } from './engine-sequence.ts';

const humanBlock = (name: string) => block(name, 'human_in_the_loop', {});

/** Defines the tests of paused runs: their answers across a restart, and their eviction from memory. */
export function describePausedRuns(makeEngineSequence: () => EngineSequence): void {
  it('a paused run is resumed as the same run with the same plan after later deployments', async () => {
    const engines = makeEngineSequence();
    const firstEngine = await engines.openNext();
    const workflowWith = (code: string) =>
      workflow([humanBlock('H'), fn('Z', code)], ['Start -> H -> Z'], { id: 'w' });
    await firstEngine.deploy(workflowWith('return "old " + <h.note>'));
    const run = await firstEngine.start('w');
    expect(await run.result()).toMatchObject({ status: 'paused' });
    const token = (await firstEngine.getRun(run.runId)).pauses[0]?.token ?? '';
    const secondEngine = await engines.openNext();
    expect(await secondEngine.deploy(workflowWith('return "new"'))).toMatchObject({ version: 2 });
    expect((await secondEngine.getRun(run.runId)).pauses[0]?.token).toBe(token);
    const result = await secondEngine.resume(run.runId, { token, input: { note: 'answer' } });
    expect(result).toMatchObject({ runId: run.runId, status: 'completed', output: { result: 'old answer' } });
  });

  it('a resume can be repeated in every later engine, and returns the first result', async () => {
    const engines = makeEngineSequence();
    const firstEngine = await engines.openNext();
    const definition = workflow(
      [humanBlock('H'), humanBlock('I'), fn('Z', 'return <h.n>')],
      ['Start -> H -> I -> Z'],
    );
    const run = await firstEngine.start({ workflow: definition });
    await run.result();
    const token = (await firstEngine.getRun(run.runId)).pauses[0]?.token ?? '';
    expect(await firstEngine.resume(run.runId, { token, input: { n: 1 } })).toMatchObject({
      status: 'paused',
    });
    const secondEngine = await engines.openNext();
    expect(await secondEngine.resume(run.runId, { token, input: { n: 2 } })).toMatchObject({
      status: 'paused',
    });
    expect((await secondEngine.getRun(run.runId)).pauses).toMatchObject([{ blockName: 'I' }]);
    expect(await secondEngine.resume(run.runId, { input: {} })).toMatchObject({ output: { result: 1 } });
    const thirdEngine = await engines.openNext();
    expect(await thirdEngine.resume(run.runId, { token, input: { n: 3 } })).toMatchObject({
      status: 'completed',
      output: { result: 1 },
    });
  });

  it('many paused runs can be evicted from memory, and continue when they are resumed', async () => {
    const engines = makeEngineSequence();
    const engine = await engines.openNext();
    const source = { workflow: workflow([humanBlock('H'), fn('Z', 'return <h.n>')], ['Start -> H -> Z']) };
    const handles = [];
    for (let n = 0; n < 80; n++) handles.push(await engine.start(source));
    for (const handle of handles) expect(await handle.result()).toMatchObject({ status: 'paused' });
    for (const [n, handle] of handles.entries()) {
      await engine.resume(handle.runId, { input: { n } });
      expect(await handle.result()).toMatchObject({ status: 'completed', output: { result: n } });
    }
  });
}
