import { blocks } from '@heddle/blocks';
import type { Json, JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import type { Engine, EngineOptions } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { block, fn, workflow } from '../support/workflow.ts';

const JOB_WORKFLOW = workflow(
  [fn('Work', 'if (<start.n> > 1) throw new Error("too many"); return <start.n>')],
  ['Start -> Work'],
  { id: 'job', name: 'Nightly job' },
);

async function createEngineWithJob(options: EngineOptions = {}): Promise<{ engine: Engine; ids: string[] }> {
  const engine = await createEngine({ blocks: blocks(), ...options });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  await engine.deploy(JOB_WORKFLOW);
  const ids: string[] = [];
  for (const n of [1, 2]) ids.push((await engine.execute('job', { n })).runId);
  return { engine, ids };
}

/** Runs a workflow with one logs block. */
function runLogsBlock(engine: Engine, fields: JsonObject, id = 'reader') {
  const logs = block('Log', 'logs', fields);
  return engine.execute({ workflow: workflow([logs], ['Start -> Log'], { id, name: 'Reader' }) }, {});
}

describe('a logs block', () => {
  it('lists the runs of a workflow, newest first, without their values', async () => {
    const { engine, ids } = await createEngineWithJob();
    const { output } = await runLogsBlock(engine, { workflowId: 'Nightly job' });
    const { runs } = output as { runs: JsonObject[] };
    expect(runs.map(({ runId }) => runId)).toEqual([...ids].reverse());
    expect(runs[0]).toEqual({
      runId: ids[1],
      workflowId: 'job',
      workflowName: 'Nightly job',
      status: 'failed',
      createdAt: expect.any(String) as string,
      startedAt: expect.any(String) as string,
      endedAt: expect.any(String) as string,
      error: {
        code: 'BLOCK_FAILED',
        message: expect.stringContaining('too many') as string,
        blockName: 'Work',
      },
    });
  });

  it('filters runs by status and time, and lists those of its own workflow by default', async () => {
    const { engine, ids } = await createEngineWithJob();
    const listRunIds = async (fields: JsonObject) => {
      const { output } = await runLogsBlock(engine, fields);
      return (output as { runs: JsonObject[] }).runs.map(({ runId }) => runId);
    };
    expect(await listRunIds({ workflowId: 'job', status: 'completed' })).toEqual([ids[0]]);
    expect(await listRunIds({ workflowId: 'job', limit: '1' })).toEqual([ids[1]]);
    expect(await listRunIds({ workflowId: 'job', startDate: '2999-01-01T00:00:00Z' })).toEqual([]);
    expect(await listRunIds({ workflowId: 'job', endDate: '2999-01-01T00:00:00Z' })).toHaveLength(2);
    expect((await listRunIds({})).every((id) => !ids.includes(id as string))).toBe(true);
  });

  it('returns a run with its blocks, and their values on request', async () => {
    const { engine, ids } = await createEngineWithJob();
    const { output } = await runLogsBlock(engine, { runId: ids[0] ?? '', withValues: true });
    expect(output).toMatchObject({
      run: { runId: ids[0], status: 'completed', input: { n: 1 }, output: { result: 1 } },
      blocks: [
        { blockName: 'Start', status: 'completed', output: { n: 1 } },
        { blockName: 'Work', blockType: 'function', status: 'completed', output: { result: 1 }, error: null },
      ],
    });
  });

  it('does not return the tokens that resume a paused run', async () => {
    const engine = await createEngine({ blocks: blocks() });
    onTestFinished(() => engine.close({ graceMs: 0 }));
    const askWorkflow = workflow([block('Ask', 'human_in_the_loop')], ['Start -> Ask'], { id: 'ask' });
    const { runId } = await engine.execute({ workflow: askWorkflow }, {});
    const [pause] = (await engine.getRun(runId)).pauses;
    const { output } = await runLogsBlock(engine, { runId, withValues: true });
    expect(output).toMatchObject({ run: { status: 'paused' } });
    expect(pause?.token).toMatch(/.{10}/);
    expect(JSON.stringify(output)).not.toContain(pause?.token ?? '');
  });

  it('omits values beyond a maximum total size', async () => {
    const engine = await createEngine({ blocks: blocks() });
    onTestFinished(() => engine.close({ graceMs: 0 }));
    const largeWorkflow = workflow(
      [fn('A', 'return "x".repeat(3e6)'), fn('B', 'return "y".repeat(3e6)'), fn('C', 'return 1')],
      ['Start -> A -> B -> C'],
      { id: 'large' },
    );
    const { runId } = await engine.execute({ workflow: largeWorkflow }, {});
    const { output } = await runLogsBlock(engine, { runId, withValues: 'true' });
    const { blocks: blockLogs } = output as { blocks: JsonObject[] };
    expect(JSON.stringify(output).length).toBeLessThan(5_000_000);
    expect(blockLogs.map(({ output: value }) => value !== null)).toEqual([true, true, false, false]);
  });

  it('treats runs and workflows of another tenant as missing', async () => {
    const tenant = (workflowId: string): string => (workflowId === 'job' ? 'theirs' : 'mine');
    const { engine, ids } = await createEngineWithJob({ tenant });
    const messageOf = async (fields: JsonObject, hiddenId: string): Promise<string | undefined> =>
      (await runLogsBlock(engine, fields)).error?.message.replace(hiddenId, 'X');
    expect(await messageOf({ runId: ids[0] ?? '' }, ids[0] ?? '')).toBe(
      await messageOf({ runId: 'gone' }, 'gone'),
    );
    expect(await messageOf({ workflowId: 'job' }, 'job')).toBe(
      await messageOf({ workflowId: 'gone' }, 'gone'),
    );
    expect(await messageOf({ workflowId: 'job' }, 'job')).toBe(
      'The block "Log" reads runs of "X", which is not a deployed workflow.',
    );
  });

  it.each<[fields: JsonObject, message: string]>([
    [{ startDate: 'yesterday' }, 'has an invalid time in "startDate"'],
    [{ status: 'happy' }, '"status": '],
    [{ limit: 1000 }, '"limit": '],
  ])('refuses %j', async (fields, message) => {
    const { engine } = await createEngineWithJob();
    const result = await runLogsBlock(engine, fields as { [name: string]: Json });
    expect(result).toMatchObject({ error: { code: 'BLOCK_CONFIG_INVALID' } });
    expect(result.error?.message).toContain(message);
  });
});
