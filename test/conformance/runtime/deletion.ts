import type { Engine } from '@heddle/engine';
import { filesIn } from '@heddle/core/files';
import { describe, expect, it } from 'vitest';
import { block, fn, workflow } from '../../support/workflow.ts';
import type { MakeRuntime } from './runtime-under-test.ts';

const NOT_FOUND = { code: 'RUN_NOT_FOUND' };
/** Length of an output above the inline limit: it is in the value store, where equal outputs share one value. */
const LARGE_LENGTH = 50_000;

const ASK_WORKFLOW = workflow(
  [block('Ask', 'human_in_the_loop', {}), fn('F', 'return <ask.answer>')],
  ['Start -> Ask -> F'],
  { id: 'ask' },
);
const REPEAT_WORKFLOW = workflow([fn('F', 'return "x".repeat(<start.input>)')], ['Start -> F'], {
  id: 'repeat',
});
const CALL_WORKFLOW = workflow(
  [block('W', 'workflow_input', { workflowId: 'repeat', inputMapping: '{"input": 3}' })],
  ['Start -> W'],
  { id: 'call' },
);

const listRunIds = async (engine: Engine): Promise<string[]> =>
  (await engine.listRuns()).runs.map(({ runId }) => runId);

/** Defines the tests of `deleteRun`: what it deletes, what it keeps, and when it is refused. */
export function describeDeletion(makeRuntime: MakeRuntime): void {
  describe('deleting a run', () => {
    it('deletes an ended run with its record, logs and trace; a second call fails', async () => {
      const engine = await makeRuntime().open();
      const { runId } = await engine.execute({ workflow: REPEAT_WORKFLOW }, 3);
      await engine.deleteRun(runId);
      expect(await listRunIds(engine)).toEqual([]);
      await expect(engine.getRun(runId)).rejects.toMatchObject(NOT_FOUND);
      await expect(engine.getLogs(runId)).rejects.toMatchObject(NOT_FOUND);
      await expect(engine.getTrace(runId)).rejects.toMatchObject(NOT_FOUND);
      await expect(engine.fileReader(runId)).rejects.toMatchObject(NOT_FOUND);
      await expect(engine.attach(runId)).rejects.toMatchObject(NOT_FOUND);
      await expect(engine.deleteRun(runId)).rejects.toMatchObject(NOT_FOUND);
    });

    it('deletes child runs with their parent, and no other run of the same workflow', async () => {
      const engine = await makeRuntime().open();
      await engine.deploy(REPEAT_WORKFLOW);
      const { runId } = await engine.execute({ workflow: CALL_WORKFLOW });
      const otherRun = await engine.execute('repeat', 3);
      expect(await listRunIds(engine)).toHaveLength(3);
      await engine.deleteRun(runId);
      expect(await listRunIds(engine)).toEqual([otherRun.runId]);
    });

    it('deletes a failed run', async () => {
      const engine = await makeRuntime().open();
      const failingWorkflow = workflow([fn('F', 'throw new Error("no")')], ['Start -> F']);
      const { runId, status } = await engine.execute({ workflow: failingWorkflow });
      expect(status).toBe('failed');
      await engine.deleteRun(runId);
      expect(await listRunIds(engine)).toEqual([]);
    });

    it('refuses a run that has not ended; the run continues', async () => {
      const engine = await makeRuntime().open();
      const run = await engine.start({ workflow: ASK_WORKFLOW });
      expect(await run.result()).toMatchObject({ status: 'paused' });
      await expect(engine.deleteRun(run.runId)).rejects.toMatchObject({ code: 'RUN_NOT_SETTLED' });
      expect(await engine.resume(run.runId, { input: { answer: 7 } })).toMatchObject({
        status: 'completed',
        output: { result: 7 },
      });
      await engine.deleteRun(run.runId);
      expect(await listRunIds(engine)).toEqual([]);
    });

    it('deletes a cancelled run', async () => {
      const engine = await makeRuntime().open();
      const run = await engine.start({ workflow: ASK_WORKFLOW });
      expect(await run.result()).toMatchObject({ status: 'paused' });
      expect(await engine.cancel(run.runId)).toBe(true);
      await expect.poll(async () => (await engine.getRun(run.runId)).status).toBe('cancelled');
      await engine.deleteRun(run.runId);
      await expect(engine.getRun(run.runId)).rejects.toMatchObject(NOT_FOUND);
    });

    it('keeps the record, the logs and the large values of another run, even with equal content', async () => {
      const engine = await makeRuntime().open();
      await engine.deploy(REPEAT_WORKFLOW);
      const deletedRun = await engine.execute('repeat', LARGE_LENGTH);
      const keptRun = await engine.execute('repeat', LARGE_LENGTH);
      const [record, logs] = [await engine.getRun(keptRun.runId), await engine.getLogs(keptRun.runId)];
      await engine.deleteRun(deletedRun.runId);
      expect(await engine.getRun(keptRun.runId)).toEqual(record);
      expect(await engine.getLogs(keptRun.runId)).toEqual(logs);
      expect(record.output).toMatchObject({ result: 'x'.repeat(LARGE_LENGTH) });
    });

    it('keeps the files that another run uses', async () => {
      const engine = await makeRuntime().open();
      const responseBlock = block('Read', 'response', {
        dataMode: 'json',
        data: '{"text": "<start.doc[0].base64>"}',
      });
      const format = { inputFormat: [{ name: 'doc', type: 'file[]' }] };
      await engine.deploy(workflow([responseBlock], ['Start -> Read'], { id: 'read', ...format }));
      const upload = { type: 'file', name: 'abc.txt', data: 'data:text/plain;base64,YWJj' };
      const input = await engine.storeFiles('read', { doc: upload });
      const [file] = filesIn(input);
      if (!file) throw new Error('The input has no file.');
      const [deletedRun, keptRun] = [
        await engine.execute('read', input),
        await engine.execute('read', input),
      ];
      await engine.deleteRun(deletedRun.runId);
      expect(await (await engine.fileReader(keptRun.runId))(file)).toBe('YWJj');
      expect(await engine.execute('read', input)).toMatchObject({ output: { data: { text: 'YWJj' } } });
    });
  });
}
