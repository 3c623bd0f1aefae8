import { describe, expect, it } from 'vitest';
import { ScriptedExecutor, work } from '../../support/scripted-executor.ts';
import { block, fn, loop, parallel, workflow } from '../../support/workflow.ts';
import type { MakeRuntime } from './runtime-under-test.ts';

const APPROVAL = { inputFormat: [{ id: 'a', name: 'approved', type: 'boolean', required: true }] };

/** Defines the tests of R22, R25 and R40 (docs/semantics.md): pause points and their answers. */
export function describePauses(makeRuntime: MakeRuntime): void {
  describe('pauses', () => {
    it('a run stops at a pause and continues with the submission (R22)', async () => {
      const engine = await makeRuntime().open();
      const definition = workflow(
        [block('H', 'human_in_the_loop', APPROVAL), fn('Z', 'return <h.approved>')],
        ['Start -> H -> Z'],
      );
      const run = await engine.start({ workflow: definition });
      expect(await run.result()).toMatchObject({ status: 'paused' });
      const pausedRun = await engine.getRun(run.runId);
      expect(pausedRun.pauses).toHaveLength(1);
      expect(pausedRun).toMatchObject({
        status: 'paused',
        pauseKind: 'human',
        pauses: [{ blockName: 'H', kind: 'human' }],
      });
      expect(Buffer.from(pausedRun.pauses[0]?.token ?? '', 'base64url').length).toBeGreaterThanOrEqual(16);
      const result = await engine.resume(run.runId, { input: { approved: true } });
      expect(result).toMatchObject({ status: 'completed', output: { result: true }, runId: run.runId });
    });

    it('an invalid submission or token is refused, and the pause stays open (R40)', async () => {
      const engine = await makeRuntime().open();
      const run = await engine.start({
        workflow: workflow([block('H', 'human_in_the_loop', APPROVAL)], ['Start -> H']),
      });
      await run.result();
      await expect(engine.resume(run.runId, { input: {} })).rejects.toMatchObject({
        code: 'RESUME_INPUT_INVALID',
      });
      await expect(
        engine.resume(run.runId, { token: 'wrong', input: { approved: true } }),
      ).rejects.toMatchObject({ code: 'RESUME_POINT_NOT_FOUND' });
      expect((await engine.getRun(run.runId)).pauses).toHaveLength(1);
      expect(await engine.resume(run.runId, { input: { approved: false } })).toMatchObject({
        status: 'completed',
      });
    });

    it('a repeated resume with the same token returns the first result, even after the end of the run (R40)', async () => {
      const engine = await makeRuntime().open();
      const run = await engine.start({
        workflow: workflow(
          [block('H', 'human_in_the_loop', {}), fn('Z', 'return <h.note>')],
          ['Start -> H -> Z'],
        ),
      });
      await run.result();
      const token = (await engine.getRun(run.runId)).pauses[0]?.token ?? '';
      const firstResult = await engine.resume(run.runId, { token, input: { note: 'one' } });
      const secondResult = await engine.resume(run.runId, { token, input: { note: 'two' } });
      expect(firstResult.output).toMatchObject({ result: 'one' });
      expect(secondResult).toEqual(firstResult);
      await expect(engine.resume(run.runId, { token: 'other' })).rejects.toMatchObject({ code: 'RUN_ENDED' });
    });

    it('a pause is open while other branches continue, and the run is paused when nothing else runs (R25)', async () => {
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({ blocks: [scriptedExecutor.executor] });
      const definition = workflow(
        [block('H', 'human_in_the_loop', {}), work('A'), fn('J', 'return "joined"')],
        ['Start -> H -> J', 'Start -> A -> J'],
      );
      const run = await engine.start({ workflow: definition });
      const call = await scriptedExecutor.nextCall('A');
      await expect.poll(async () => (await engine.getRun(run.runId)).pauses.length).toBe(1);
      expect(await engine.getRun(run.runId)).toMatchObject({ status: 'running' });
      const resumePromise = engine.resume(run.runId, { input: {} });
      call.complete();
      expect(await resumePromise).toMatchObject({ status: 'completed', output: { result: 'joined' } });
      expect(await run.result()).toMatchObject({ status: 'completed' });
    });

    it('several pauses resume independently, in any order', async () => {
      const engine = await makeRuntime().open();
      const definition = workflow(
        [
          parallel('P', { parallelType: 'count', count: 2 }, block('H', 'human_in_the_loop', {})),
          fn('Z', 'return <p.results>.map(b => b[0].n)'),
        ],
        ['Start -> P -> H', 'P -> Z'],
      );
      const run = await engine.start({ workflow: definition });
      await run.result();
      const { pauses } = await engine.getRun(run.runId);
      expect(pauses.map(({ scope }) => scope)).toEqual([[0], [1]]);
      await expect(engine.resume(run.runId, { input: {} })).rejects.toMatchObject({
        code: 'RESUME_POINT_NOT_FOUND',
      });
      expect(
        await engine.resume(run.runId, { token: pauses[1]?.token ?? '', input: { n: 'b' } }),
      ).toMatchObject({ status: 'paused' });
      const result = await engine.resume(run.runId, { token: pauses[0]?.token ?? '', input: { n: 'a' } });
      expect(result).toMatchObject({ status: 'completed', output: { result: ['a', 'b'] } });
    });

    it('a pause in a loop opens once per iteration', async () => {
      const engine = await makeRuntime().open();
      const definition = workflow(
        [
          loop('L', { loopType: 'for', count: 2 }, block('H', 'human_in_the_loop', {})),
          fn('Z', 'return <l.results>.map(t => t[0].n)'),
        ],
        ['Start -> L -> H', 'L -> Z'],
      );
      const run = await engine.start({ workflow: definition });
      expect(await run.result()).toMatchObject({ status: 'paused' });
      expect(await engine.resume(run.runId, { input: { n: 1 } })).toMatchObject({ status: 'paused' });
      expect(await engine.resume(run.runId, { input: { n: 2 } })).toMatchObject({
        status: 'completed',
        output: { result: [1, 2] },
      });
    });

    it('cancelling a paused run closes its pauses', async () => {
      const engine = await makeRuntime().open();
      const run = await engine.start({
        workflow: workflow([block('H', 'human_in_the_loop', {})], ['Start -> H']),
      });
      await run.result();
      const token = (await engine.getRun(run.runId)).pauses[0]?.token ?? '';
      expect(await engine.cancel(run.runId)).toBe(true);
      expect(await engine.getRun(run.runId)).toMatchObject({ status: 'cancelled', pauses: [] });
      await expect(engine.resume(run.runId, { token })).rejects.toMatchObject({ code: 'RUN_ENDED' });
    });
  });
}
