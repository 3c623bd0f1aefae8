import { expect, it, onTestFinished } from 'vitest';
import { derivePauseToken } from '../../packages/engine/src/execution/tokens.ts';
import { hashToken } from '../../packages/temporal/src/chunk.ts';
import { RESUME_UPDATE } from '../../packages/temporal/src/messages.ts';
import type { ResumeMessage } from '../../packages/temporal/src/messages.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { ScriptedExecutor, work } from '../support/scripted-executor.ts';
import { describeTemporal } from '../support/temporal.ts';
import { block, workflow } from '../support/workflow.ts';
import { openClient } from './history.ts';
import { openEngine } from './replay/open-engine.ts';

const PAUSING_WORKFLOW = workflow([work('A'), block('H', 'human_in_the_loop')], ['Start -> A -> H']);

describeTemporal('answers to pauses', (server) => {
  // A worker that dies within a task may have recorded a pause that the run reaches only later, when another worker
  // replays the history.
  it('wait until the run reaches their pause', async () => {
    const scriptedExecutor = new ScriptedExecutor();
    const { engine, stores, close } = await openEngine(server, {
      data: createDataFolder(),
      options: { blocks: [scriptedExecutor.executor] },
    });
    onTestFinished(close);
    const { runId } = await engine.start({ workflow: PAUSING_WORKFLOW });
    const call = await scriptedExecutor.nextCall('A');
    const header = await stores.runs.header(runId);
    const token = derivePauseToken(header?.tokenKey ?? '', { block: 'H', scope: [], try: 1 });
    const handle = (await openClient(server)).workflow.getHandle(runId);
    const sendAnswer = (updateId: string, position: { seq?: number }): Promise<number> => {
      const entry = { atMs: 1, type: 'resumed', block: 'H', scope: [], token, output: { v: { n: 1 } } };
      const message: ResumeMessage = {
        at: [2],
        tokenHash: hashToken(token),
        atMs: entry.atMs,
        id: updateId,
        chunk: { v: [{ ...entry, input: { v: { n: 1 } } }] },
        ...position,
      };
      return handle.executeUpdate<number, [ResumeMessage]>(RESUME_UPDATE, { args: [message], updateId });
    };
    await expect(sendAnswer('too-early', {})).rejects.toThrow('Update failed');
    await expect(sendAnswer('not-yet-open', { seq: 2 })).rejects.toThrow('Update failed');
    const earlyAnswer = sendAnswer('early', { seq: 4 });
    await expect
      .poll(async () => JSON.stringify(await handle.fetchHistory()).includes('"early"'), { timeout: 10_000 })
      .toBe(true);
    call.complete();
    expect(await earlyAnswer).toBe(5);
    await handle.result();
    expect(await engine.getRun(runId)).toMatchObject({ status: 'completed' });
  });
});
