import type { ResolvedChild } from '@heddle/engine';
import { describe, expect, it } from 'vitest';
import { ScriptedExecutor, work } from '../../support/scripted-executor.ts';
import { block, fn, workflow } from '../../support/workflow.ts';
import type { MakeRuntime } from './runtime-under-test.ts';

const TOPIC_FORMAT = [{ id: 't', name: 'topic', type: 'string' }];

const callBlock = (fields = {}) =>
  block('W', 'workflow_input', { workflowId: 'child', inputMapping: '{"topic": "wool"}', ...fields });

/** Defines the tests of child workflows, which are separate runs. Rule R24 is in docs/semantics.md. */
export function describeChildren(makeRuntime: MakeRuntime): void {
  describe('children', () => {
    it('a child is a separate run, and its output is the result of the block', async () => {
      const engine = await makeRuntime().open();
      await engine.deploy(
        workflow([fn('F', 'return "about " + <start.topic>')], ['Start -> F'], {
          id: 'child',
          name: 'Child',
          inputFormat: TOPIC_FORMAT,
        }),
      );
      const result = await engine.execute(
        { workflow: workflow([callBlock()], ['Start -> W']) },
        { topic: 'wool' },
      );
      expect(result).toMatchObject({
        status: 'completed',
        output: { success: true, childWorkflowName: 'Child', result: { result: 'about wool' } },
      });
      const { runs } = await engine.listRuns();
      expect(runs).toHaveLength(2);
      expect(runs.find(({ workflowName }) => workflowName === 'Child')).toMatchObject({
        parentRunId: result.runId,
        status: 'completed',
      });
    });

    it('a child that pauses also pauses its parent, and both continue after the resume (R24)', async () => {
      const engine = await makeRuntime().open();
      await engine.deploy(
        workflow([block('H', 'human_in_the_loop', {}), fn('F', 'return <h.n>')], ['Start -> H -> F'], {
          id: 'child',
        }),
      );
      const run = await engine.start({
        workflow: workflow([callBlock(), fn('Z', 'return <w.result.result>')], ['Start -> W -> Z']),
      });
      expect(await run.result()).toMatchObject({ status: 'paused' });
      const { runs } = await engine.listRuns({ status: ['paused'] });
      const child = runs.find(({ parentRunId }) => parentRunId === run.runId);
      await engine.resume(child?.runId ?? '', { input: { n: 7 } });
      expect(await run.result()).toMatchObject({ status: 'completed', output: { result: 7 } });
    });

    it('cancelling the parent cancels the child', async () => {
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({ blocks: [scriptedExecutor.executor] });
      await engine.deploy(workflow([work('A')], ['Start -> A'], { id: 'child' }));
      const run = await engine.start({ workflow: workflow([callBlock()], ['Start -> W']) });
      await scriptedExecutor.nextCall('A');
      await engine.cancel(run.runId);
      await scriptedExecutor.whenAborted('A');
      expect(scriptedExecutor.abortedCalls).toEqual(['A']);
      await expect.poll(async () => (await engine.listRuns({ status: ['cancelled'] })).runs.length).toBe(2);
    });

    it('a failed child fails the block, with the chain of workflow names in the message', async () => {
      const engine = await makeRuntime().open();
      await engine.deploy(
        workflow([fn('F', 'throw new Error("deep")')], ['Start -> F'], { id: 'child', name: 'Child' }),
      );
      const result = await engine.execute({ workflow: workflow([callBlock()], ['Start -> W']) });
      expect(result).toMatchObject({ status: 'failed', error: { code: 'CHILD_FAILED' } });
      expect(result.error?.message).toMatch(/Child.*deep/s);
    });

    it('an invalid child cannot be deployed, and an unknown child fails its block and activates the error port', async () => {
      const engine = await makeRuntime().open();
      const invalidWorkflow = workflow([fn('F', 'return <nosuch.result>')], ['Start -> F'], { id: 'child' });
      await expect(engine.deploy(invalidWorkflow)).rejects.toMatchObject({ code: 'WORKFLOW_INVALID' });
      const parentWorkflow = workflow(
        [callBlock(), fn('H', 'return <w.error>')],
        ['Start -> W', 'W:error -> H'],
      );
      const { status, output } = await engine.execute({ workflow: parentWorkflow });
      expect(status).toBe('completed');
      expect((output as { result: string }).result).toContain('child');
    });

    it('a child has the environment of its parent, and no record of either contains secrets', async () => {
      const engine = await makeRuntime().open({ env: { TOKEN: 'tok-12345678' } });
      await engine.deploy(
        workflow([fn('F', 'return [{{TOKEN}}.length, {{TOKEN}}]')], ['Start -> F'], { id: 'child' }),
      );
      const result = await engine.execute({ workflow: workflow([callBlock()], ['Start -> W']) });
      expect(result).toMatchObject({ output: { result: { result: [12, '«redacted:TOKEN»'] } } });
      const { runs } = await engine.listRuns();
      const logs = await Promise.all(runs.map(({ runId }) => engine.getLogs(runId)));
      expect(JSON.stringify([runs, logs])).not.toContain('tok-12345678');
    });

    it('a child runs the version that is live at its start, and finishes with this version after later deployments', async () => {
      let liveVersion: ResolvedChild | undefined = { workflow: 'child', version: 1 };
      const engine = await makeRuntime().open({ resolveChild: () => liveVersion });
      const childWorkflow = (name: string) =>
        workflow([block('H', 'human_in_the_loop', {})], ['Start -> H'], { id: 'child', name });
      await engine.deploy(childWorkflow('First'));
      await engine.deploy(childWorkflow('Second'));
      const run = await engine.start({ workflow: workflow([callBlock()], ['Start -> W']) });
      expect(await run.result()).toMatchObject({ status: 'paused' });
      liveVersion = undefined;
      const { runs } = await engine.listRuns({ status: ['paused'] });
      const child = runs.find(({ parentRunId }) => parentRunId === run.runId);
      expect(child).toMatchObject({ workflowName: 'First' });
      await engine.resume(child?.runId ?? '', { input: {} });
      expect(await run.result()).toMatchObject({
        status: 'completed',
        output: { childWorkflowName: 'First' },
      });
      expect(await engine.execute({ workflow: workflow([callBlock()], ['Start -> W']) })).toMatchObject({
        status: 'failed',
        error: { code: 'CHILD_NOT_FOUND' },
      });
    });

    it('a workflow of another tenant cannot be a child, neither by its id nor by its name', async () => {
      const engine = await makeRuntime().open({ tenant: (id) => (id === 'child' ? 'other' : 'own') });
      await engine.deploy(workflow([], [], { id: 'child', name: 'Foreign child' }));
      for (const workflowId of ['child', 'Foreign child'])
        expect(
          await engine.execute({ workflow: workflow([callBlock({ workflowId })], ['Start -> W']) }),
        ).toMatchObject({ status: 'failed', error: { code: 'CHILD_NOT_FOUND' } });
    });

    it('no caller can start a run with an id in the format of child runs', async () => {
      const engine = await makeRuntime().open();
      const source = { workflow: workflow([], []) };
      for (const runId of ['0b7f0b1e-7c1c-8f5e-9d3a-000000000001', '0B7F0B1E-7C1C-8F5E-BD3A-000000000001'])
        await expect(engine.start(source, {}, { runId })).rejects.toMatchObject({
          code: 'OPTIONS_INVALID',
          message: expect.stringContaining(runId) as string,
        });
      expect((await engine.listRuns()).runs).toEqual([]);
    });

    it('a workflow that calls itself stops at the depth limit', async () => {
      const engine = await makeRuntime().open();
      await engine.deploy(workflow([callBlock()], ['Start -> W'], { id: 'child', name: 'Child' }));
      const result = await engine.execute('child');
      expect(result).toMatchObject({ status: 'failed', error: { code: 'CHILD_FAILED' } });
      expect((await engine.listRuns({ limit: 100 })).runs).toHaveLength(26);
    });
  });
}
