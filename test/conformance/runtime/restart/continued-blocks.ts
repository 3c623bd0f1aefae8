import { expect, it } from 'vitest';
import { askBlock, AskExecutor } from '../../../support/ask-blocks.ts';
import { workflow } from '../../../support/workflow.ts';
import type { EngineSequence } from './engine-sequence.ts';

/** Defines the tests of blocks that continue after a pause (R46 of docs/semantics.md), across a restart. */
export function describeContinuedBlocks(makeEngineSequence: () => EngineSequence): void {
  it('a paused block continues in a later engine with its answer, after its finished steps and a deployment (R46)', async () => {
    const engines = makeEngineSequence();
    const workflowWithQuestions = (questionCount: number) =>
      workflow([askBlock('A', questionCount)], ['Start -> A'], { id: 'w' });
    const firstAskExecutor = new AskExecutor();
    const firstEngine = await engines.openNext({ blocks: [firstAskExecutor.executor] });
    await firstEngine.deploy(workflowWithQuestions(2));
    const run = await firstEngine.start('w');
    await run.result();
    const [pause] = (await firstEngine.getRun(run.runId)).pauses;
    expect(firstAskExecutor.executedSteps).toEqual(['A 0']);
    const secondAskExecutor = new AskExecutor();
    const secondEngine = await engines.openNext({ blocks: [secondAskExecutor.executor] });
    expect(await secondEngine.deploy(workflowWithQuestions(9))).toMatchObject({ version: 2 });
    const token = pause?.token ?? '';
    expect((await secondEngine.getRun(run.runId)).pauses).toMatchObject([{ token, output: { question: 1 } }]);
    expect(await secondEngine.resume(run.runId, { token, input: { answer: 1 } })).toMatchObject({
      status: 'paused',
    });
    expect(secondAskExecutor.executedSteps).toEqual(['A 1']);
    const thirdAskExecutor = new AskExecutor();
    const thirdEngine = await engines.openNext({ blocks: [thirdAskExecutor.executor] });
    expect(await thirdEngine.resume(run.runId, { token, input: { answer: 9 } })).toMatchObject({
      status: 'paused',
    });
    expect(await thirdEngine.resume(run.runId, { input: { answer: 2 } })).toMatchObject({
      status: 'completed',
      output: { answers: [{ answer: 1 }, { answer: 2 }], attempt: 1 },
    });
    expect(thirdAskExecutor.executedSteps).toEqual(['A 2']);
  });

  it('an answer is delivered by the next engine if the first engine stops before the answer has an effect (R46)', async () => {
    const engines = makeEngineSequence();
    const answerRead = Promise.withResolvers<void>();
    const firstAskExecutor = new AskExecutor((_, answers) => {
      if (answers.length === 0) return Promise.resolve();
      answerRead.resolve();
      return new Promise(() => undefined);
    });
    const firstEngine = await engines.openNext({ blocks: [firstAskExecutor.executor] });
    const { runId, result } = await firstEngine.start({
      workflow: workflow([askBlock('A')], ['Start -> A']),
    });
    await result();
    firstEngine.resume(runId, { input: { answer: 'yes' } }).catch(() => undefined);
    await answerRead.promise;
    const secondAskExecutor = new AskExecutor();
    const secondEngine = await engines.openNext({ blocks: [secondAskExecutor.executor] });
    // Polls, because an engine that shares the store may end the run before this engine attaches to it.
    await expect
      .poll(() => secondEngine.getRun(runId), { timeout: 20_000 })
      .toMatchObject({
        status: 'completed',
        output: { answers: [{ answer: 'yes' }], attempt: 1 },
      });
    expect([firstAskExecutor.executedSteps, secondAskExecutor.executedSteps]).toEqual([['A 0'], ['A 1']]);
  });
}
