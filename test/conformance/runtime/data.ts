import type { RunEvent } from '@heddle/engine';
import { describe, expect, it } from 'vitest';
import { ScriptedExecutor, work } from '../../support/scripted-executor.ts';
import { block, condition, fn, loop, workflow } from '../../support/workflow.ts';
import type { MakeRuntime } from './runtime-under-test.ts';

/**
 * Defines the tests of data of runs: ids, values, mocks, secrets, outputs of earlier runs, versions and events. Rule
 * R39 is in docs/semantics.md.
 */
export function describeData(makeRuntime: MakeRuntime): void {
  describe('data', () => {
    it('a run id can be used once', async () => {
      const engine = await makeRuntime().open();
      const source = { workflow: workflow([fn('A', 'return 1')], ['Start -> A']) };
      await engine.execute(source, {}, { runId: 'mine' });
      await expect(engine.execute(source, {}, { runId: 'mine' })).rejects.toMatchObject({
        code: 'RUN_ID_TAKEN',
      });
    });

    it('values above the inline limit are stored by reference and returned whole', async () => {
      const engine = await makeRuntime().open();
      const definition = workflow(
        [fn('A', 'return "x".repeat(100000)'), fn('B', 'return <a.result>.length + <a.result>.slice(0, 2)')],
        ['Start -> A -> B'],
      );
      const result = await engine.execute({ workflow: definition }, {}, { select: ['A.result'] });
      expect(result.output).toMatchObject({ result: '100000xx' });
      expect(result.blockOutputs?.['A.result']).toHaveLength(100_000);
    });

    it('large items of a loop and large results are returned whole', async () => {
      const engine = await makeRuntime().open();
      const definition = workflow(
        [
          fn('A', 'return Array.from({length: 3}, (_, i) => String(i).repeat(9000))'),
          loop(
            'L',
            { loopType: 'forEach', collection: '<a.result>' },
            fn('B', 'return <loop.currentItem> + "!"'),
          ),
          fn('Z', 'return <l.results>.map(t => t[0].result.length)'),
        ],
        ['Start -> A -> L -> B', 'L -> Z'],
      );
      expect(await engine.execute({ workflow: definition })).toMatchObject({
        output: { result: [9001, 9001, 9001] },
      });
    });

    it('mocks replace blocks by name and by type, with their values in order', async () => {
      const engine = await makeRuntime().open();
      const definition = workflow(
        [
          loop('L', { loopType: 'for', count: 3 }, block('Ask', 'agent')),
          fn('Z', 'return <l.results>.map(t => t[0].content)'),
        ],
        ['Start -> L -> Ask', 'L -> Z'],
      );
      const mocks = { types: { agent: ['one', { content: 'two' }] } };
      expect(await engine.execute({ workflow: definition }, {}, { mocks })).toMatchObject({
        output: { result: ['one', 'two', 'two'] },
      });
    });

    it('environment values are available to code and never in the record', async () => {
      const engine = await makeRuntime().open({ env: { API_KEY: 'sk-very-secret' } });
      const definition = workflow(
        [
          fn('A', 'console.log({{API_KEY}}); return {key: {{API_KEY}}, length: {{API_KEY}}.length}'),
          fn('B', 'throw new Error("with {{API_KEY}}")'),
        ],
        ['Start -> A -> B'],
      );
      const result = await engine.execute({ workflow: definition }, {}, { select: ['A.result'] });
      const recordedData = JSON.stringify([
        result,
        await engine.getLogs(result.runId),
        await engine.getRun(result.runId),
      ]);
      expect(recordedData).not.toContain('sk-very-secret');
      expect(result.blockOutputs?.['A.result']).toEqual({ key: '«redacted:API_KEY»', length: 14 });
      expect(result.error?.message).toContain('«redacted:API_KEY»');
    });

    it('a run from a block reuses the outputs that earlier blocks had in the earlier run (R39)', async () => {
      const scriptedExecutor = new ScriptedExecutor({
        A: () => ({ output: { n: 1 } }),
        C: () => ({ output: { n: 3 } }),
      });
      const engine = await makeRuntime().open({ blocks: [scriptedExecutor.executor] });
      const workflowWithCode = (code: string) =>
        workflow([work('A'), fn('B', code), work('C')], ['Start -> A -> B -> C']);
      const firstRun = await engine.execute(
        { workflow: workflowWithCode('return <a.n> + <start.k>') },
        { k: 10 },
      );
      const rerun = await engine.runFromBlock(firstRun.runId, 'B', {
        workflow: { workflow: workflowWithCode('return <a.n> * 100 + <start.k>') },
        select: ['B.result'],
      });
      expect(await rerun.result()).toMatchObject({ status: 'completed', blockOutputs: { 'B.result': 110 } });
      expect(scriptedExecutor.calls).toEqual(['A', 'C', 'C']);
      await expect(engine.runFromBlock(firstRun.runId, 'Nope')).rejects.toMatchObject({
        code: 'BLOCK_NOT_FOUND',
      });
    });

    it('a run cannot start at a block whose preceding block did not run (R39)', async () => {
      const engine = await makeRuntime().open();
      const definition = workflow(
        [condition('C', { yes: 'false', no: '' }), fn('A', 'return 1'), fn('B', 'return 2')],
        ['Start -> C', 'C:yes -> A -> B'],
      );
      const firstRun = await engine.execute({ workflow: definition });
      await expect(engine.runFromBlock(firstRun.runId, 'B')).rejects.toMatchObject({
        code: 'BLOCK_NOT_RESTARTABLE',
      });
    });

    it('a deployed workflow runs in the requested version', async () => {
      const engine = await makeRuntime().open();
      const workflowWithCode = (code: string) =>
        workflow([fn('A', code)], ['Start -> A'], { id: 'w', name: 'Deployed' });
      expect(await engine.deploy(workflowWithCode('return 1'))).toMatchObject({ version: 1 });
      expect(await engine.deploy(workflowWithCode('return 2'))).toMatchObject({ version: 2 });
      expect(await engine.execute('Deployed')).toMatchObject({ output: { result: 2 } });
      expect(await engine.execute('w', {}, { version: 1 })).toMatchObject({ output: { result: 1 } });
      await expect(engine.execute('nope')).rejects.toMatchObject({ code: 'WORKFLOW_NOT_FOUND' });
    });

    it('an invalid definition is refused with its diagnostics', async () => {
      const engine = await makeRuntime().open();
      const definition = workflow(
        [fn('A', 'return <nosuch.result> + <variable.ghost>'), fn('B', 'return 1')],
        ['Start -> A -> B -> A'],
      );
      await expect(engine.execute({ workflow: definition })).rejects.toMatchObject({
        code: 'WORKFLOW_INVALID',
        details: {
          diagnostics: expect.arrayContaining([expect.objectContaining({ severity: 'error', blockId: 'A' })]),
        },
      });
      expect((await engine.listRuns()).runs).toEqual([]);
    });

    it('events describe the run from start to end, in order', async () => {
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({ blocks: [scriptedExecutor.executor] });
      const run = await engine.start({
        workflow: workflow([work('A'), fn('Z', 'return 5')], ['Start -> A -> Z']),
      });
      const call = await scriptedExecutor.nextCall('A');
      const eventNames: string[] = [];
      const readPromise = (async () => {
        for await (const event of run.events())
          eventNames.push('log' in event ? `${event.type} ${event.log.blockName}` : event.type);
      })();
      call.complete({ a: 1 });
      await readPromise;
      const expectedNames = [
        'run:started',
        ...['Start', 'A', 'Z'].flatMap((name) => [`block:started ${name}`, `block:completed ${name}`]),
        'run:ended',
      ];
      expect(eventNames).toEqual(expectedNames);
      // A listener that is added after the end gets the same events.
      const lateEventNames: string[] = [];
      for await (const event of run.events())
        lateEventNames.push('log' in event ? `${event.type} ${event.log.blockName}` : event.type);
      expect(lateEventNames).toEqual(expectedNames);
    });

    it('an event shows the state at the time of the event, even after the block has ended', async () => {
      const scriptedExecutor = new ScriptedExecutor();
      const engine = await makeRuntime().open({ blocks: [scriptedExecutor.executor] });
      const run = await engine.start({
        workflow: workflow([work('A'), work('B')], ['Start -> A -> B']),
      });
      const firstCall = await scriptedExecutor.nextCall('A');
      const startEvents: RunEvent[] = [];
      const readPromise = (async () => {
        for await (const event of run.events())
          if (event.type === 'block:started' && event.log.blockName === 'B') startEvents.push(event);
      })();
      firstCall.complete();
      (await scriptedExecutor.nextCall('B')).complete();
      await readPromise;
      expect(startEvents).toMatchObject([{ log: { blockName: 'B', status: 'running', endedMs: undefined } }]);
    });
  });
}
