import { expect, it } from 'vitest';
import { ask, AskBlocks } from '../../../support/ask-blocks.ts';
import { workflow } from '../../../support/workflow.ts';
import type { EngineSequence } from './engine-sequence.ts';

/** Defines the tests of blocks that continue after a pause (R46 of docs/semantics.md), across a restart. */
export function describeContinuedBlocks(makeEngines: () => EngineSequence): void {
  it('a paused block continues in a later engine with its answer, after its finished steps and a deployment (R46)', async () => {
    const engines = makeEngines();
    const askWorkflow = (times: number) => workflow([ask('A', times)], ['Start -> A'], { id: 'w' });
    const first = new AskBlocks();
    const before = await engines.next({ blocks: [first.executor] });
    await before.deploy(askWorkflow(2));
    const run = await before.start('w');
    await run.result();
    const [pause] = (await before.getRun(run.runId)).pauses;
    expect(first.executedSteps).toEqual(['A 0']);
    const second = new AskBlocks();
    const after = await engines.next({ blocks: [second.executor] });
    expect(await after.deploy(askWorkflow(9))).toMatchObject({ version: 2 });
    const token = pause?.token ?? '';
    expect((await after.getRun(run.runId)).pauses).toMatchObject([{ token, output: { question: 1 } }]);
    expect(await after.resume(run.runId, { token, input: { answer: 1 } })).toMatchObject({
      status: 'paused',
    });
    expect(second.executedSteps).toEqual(['A 1']);
    const third = new AskBlocks();
    const last = await engines.next({ blocks: [third.executor] });
    expect(await last.resume(run.runId, { token, input: { answer: 9 } })).toMatchObject({ status: 'paused' });
    expect(await last.resume(run.runId, { input: { answer: 2 } })).toMatchObject({
      status: 'completed',
      output: { answers: [{ answer: 1 }, { answer: 2 }], attempt: 1 },
    });
    expect(third.executedSteps).toEqual(['A 2']);
  });

  it('an answer is delivered by the next engine if the first engine stops before the answer has an effect (R46)', async () => {
    const engines = makeEngines();
    const answerRead = Promise.withResolvers<void>();
    const first = new AskBlocks((_, answers) => {
      if (answers.length === 0) return Promise.resolve();
      answerRead.resolve();
      return new Promise(() => undefined);
    });
    const before = await engines.next({ blocks: [first.executor] });
    const { runId, result } = await before.start({ workflow: workflow([ask('A')], ['Start -> A']) });
    await result();
    before.resume(runId, { input: { answer: 'yes' } }).catch(() => undefined);
    await answerRead.promise;
    const second = new AskBlocks();
    const after = await engines.next({ blocks: [second.executor] });
    // Polls, because an engine that shares the store may end the run before this engine attaches to it.
    await expect
      .poll(() => after.getRun(runId), { timeout: 20_000 })
      .toMatchObject({
        status: 'completed',
        output: { answers: [{ answer: 'yes' }], attempt: 1 },
      });
    expect([first.executedSteps, second.executedSteps]).toEqual([['A 0'], ['A 1']]);
  });
}
