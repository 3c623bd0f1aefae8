import { createEngine } from '@heddle/engine';
import type { Engine, EngineOptions } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ScriptedExecutor, work } from '../support/scripted-executor.ts';
import { TestClock } from '../support/test-clock.ts';
import { block, fn, workflow } from '../support/workflow.ts';
import { collect } from '../streams/talk.ts';

const singleBlockSource = { workflow: workflow([work('A')], ['Start -> A']) };

async function openEngine(options: EngineOptions = {}): Promise<Engine> {
  const engine = await createEngine(options);
  onTestFinished(() => engine.close({ graceMs: 0 }));
  return engine;
}

/** Opens an engine whose blocks of the type `work` call `execute`. */
function openEngineWithExecute(execute: () => unknown): Promise<Engine> {
  return openEngine({ blocks: [{ types: ['work'], class: 'effect', execute: execute as never }] });
}

describe('a deployed version', () => {
  it('is found in the workflow that currently has the name', async () => {
    const engine = await openEngine();
    const totalsWorkflow = (id: string, code: string) =>
      workflow([fn('F', code)], ['Start -> F'], { id, name: 'Totals' });
    const executeForOutput = async (idOrName: string) =>
      (await engine.execute(idOrName, {}, { version: 1 })).output;
    await engine.deploy(totalsWorkflow('first', 'return 1'));
    expect(await executeForOutput('Totals')).toMatchObject({ result: 1 });
    await engine.deploy(totalsWorkflow('second', 'return 3'));
    expect(await executeForOutput('Totals')).toMatchObject({ result: 3 });
    expect(await executeForOutput('first')).toMatchObject({ result: 1 });
  });
});

describe('calls for an unknown run', () => {
  it.each([
    ['getRun', (engine: Engine) => engine.getRun('ghost')],
    ['getLogs', (engine: Engine) => engine.getLogs('ghost')],
    ['resume', (engine: Engine) => engine.resume('ghost')],
    ['cancel', (engine: Engine) => engine.cancel('ghost')],
    ['attach', (engine: Engine) => engine.attach('ghost')],
    ['runFromBlock', (engine: Engine) => engine.runFromBlock('ghost', 'A')],
  ])('%s rejects with RUN_NOT_FOUND and the id', async (_name, call) => {
    await expect(call(await openEngine())).rejects.toMatchObject({
      code: 'RUN_NOT_FOUND',
      message: expect.stringContaining('ghost') as string,
    });
  });
});

describe('a closed engine', () => {
  it.each([
    ['execute', (engine: Engine) => engine.execute(singleBlockSource)],
    ['deploy', (engine: Engine) => engine.deploy(singleBlockSource.workflow)],
    ['getRun', (engine: Engine) => engine.getRun('r')],
    ['getLogs', (engine: Engine) => engine.getLogs('r')],
    ['listRuns', (engine: Engine) => engine.listRuns()],
    ['resume', (engine: Engine) => engine.resume('r')],
    ['cancel', (engine: Engine) => engine.cancel('r')],
    ['attach', (engine: Engine) => engine.attach('r')],
    ['runFromBlock', (engine: Engine) => engine.runFromBlock('r', 'A')],
  ])('rejects %s with ENGINE_CLOSED', async (_name, call) => {
    const engine = await openEngine();
    await engine.close();
    await expect(call(engine)).rejects.toMatchObject({ code: 'ENGINE_CLOSED' });
  });

  it('rejects the calls that wait for a run', async () => {
    const scriptedExecutor = new ScriptedExecutor();
    const engine = await openEngine({ blocks: [scriptedExecutor.executor] });
    const run = await engine.start(singleBlockSource);
    await scriptedExecutor.nextCall('A');
    const pendingCalls = [run.result(), collect(run.events())];
    await Promise.all([
      engine.close({ graceMs: 0 }),
      ...pendingCalls.map((pendingCall) =>
        expect(pendingCall).rejects.toMatchObject({ code: 'ENGINE_CLOSED' }),
      ),
    ]);
    await expect(run.result()).rejects.toMatchObject({ code: 'ENGINE_CLOSED' });
    await expect(run.cancel()).rejects.toMatchObject({ code: 'ENGINE_CLOSED' });
  });

  it('does not wait for a run that waits for a person in a child', async () => {
    const clock = new TestClock();
    const engine = await openEngine({ clock });
    await engine.deploy(workflow([block('H', 'human_in_the_loop')], ['Start -> H'], { id: 'child' }));
    const workflowBlock = block('W', 'workflow_input', { workflowId: 'child', inputMapping: '{}' });
    const run = await engine.start({ workflow: workflow([workflowBlock], ['Start -> W']) });
    await run.result();
    // The grace period never ends on this clock.
    expect(await engine.close({ graceMs: 1 })).toBeUndefined();
  });
});

describe('a faulty executor', () => {
  it.each([
    ['nothing', () => undefined, /an invalid result/],
    ['a string', () => 'done', /an invalid result/],
    ['no output', () => ({ result: 1 }), /an invalid result/],
    ['a wait until NaN', () => ({ waitUntilMs: Number.NaN, waiting: {}, output: {} }), /an invalid result/],
    ['a bigint', () => ({ output: { deep: [{ n: 1n }] } }), /"deep\.0\.n" is a bigint/],
    ['a function', () => ({ output: { call: () => 1 } }), /"call" is a function/],
    ['a circular value', () => ({ output: createCircularValue() }), /contains itself/],
  ])('that returns %s fails its block with a clear message', async (_title, execute, message) => {
    const engine = await openEngineWithExecute(execute);
    const result = await engine.execute(singleBlockSource);
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'BLOCK_FAILED', details: { blockName: 'A' } },
    });
    expect(result.error?.message).toMatch(message);
  });

  it.each([
    ['a string', 'plainly', 'plainly'],
    ['nothing', undefined, 'The block threw undefined, which is not an error.'],
    ['an object', { code: 7 }, 'The block threw {"code":7}, which is not an error.'],
    ['an object without a prototype', Object.create(null), 'The block threw {}, which is not an error.'],
    [
      'a circular value',
      createCircularValue(),
      'The block threw a value of type object, which is not an error.',
    ],
    ['an error without a message', new TypeError(), 'TypeError'],
  ])('that throws %s fails its block', async (_title, thrown, message) => {
    const engine = await openEngineWithExecute(() => {
      throw thrown;
    });
    expect(await engine.execute(singleBlockSource)).toMatchObject({
      status: 'failed',
      error: { code: 'BLOCK_FAILED', message },
    });
  });

  it('that ignores its signal delays neither the cancellation of its run nor the closing of the engine', async () => {
    const clock = new TestClock();
    const executor = {
      types: ['work'],
      class: 'effect' as const,
      execute: () => new Promise<never>(() => undefined),
    };
    const engine = await openEngine({ clock, blocks: [executor], concurrency: { engine: 1, run: 1 } });
    const firstRun = await engine.start(singleBlockSource);
    expect(await engine.cancel(firstRun.runId)).toBe(true);
    expect(await firstRun.result()).toMatchObject({ status: 'cancelled' });
    await engine.start(singleBlockSource);
    await engine.close({ graceMs: 0 });
  });

  it('is not called and takes no slot if its run is cancelled while it waits for a slot', async () => {
    const scriptedExecutor = new ScriptedExecutor();
    const engine = await openEngine({
      blocks: [scriptedExecutor.executor],
      concurrency: { engine: 1, run: 1 },
    });
    const firstRun = await engine.start(singleBlockSource);
    const call = await scriptedExecutor.nextCall('A');
    const secondRun = await engine.start(singleBlockSource);
    await secondRun.cancel();
    const thirdRun = await engine.start(singleBlockSource);
    call.complete();
    (await scriptedExecutor.nextCall('A')).complete({ n: 3 });
    expect(await thirdRun.result()).toMatchObject({ status: 'completed', output: { n: 3 } });
    expect(await firstRun.result()).toMatchObject({ status: 'completed' });
    expect(scriptedExecutor.calls).toHaveLength(2);
  });

  it('that changes its inputs does not change values of the run', async () => {
    const engine = await openEngine({
      blocks: [
        {
          types: ['work'],
          class: 'compute',
          execute: ({ field, fields, sourceOutput }) => {
            (field('list', 'native') as number[]).push(99);
            Object.assign(fields(), { list: null });
            Object.assign(sourceOutput(), { n: 99 });
            return { output: {} };
          },
        },
      ],
    });
    const definition = workflow(
      [fn('A', 'return [1]'), block('B', 'work', { list: '<a.result>' }), fn('Z', 'return <a.result>')],
      ['Start -> A -> B -> Z'],
    );
    const result = await engine.execute({ workflow: definition });
    expect(result).toMatchObject({ output: { result: [1] } });
    const logs = await engine.getLogs(result.runId);
    expect(logs.find(({ blockName }) => blockName === 'B')).toMatchObject({ input: { list: [1] } });
  });
});

describe('values from callers', () => {
  it('input that is not JSON is rejected', async () => {
    const engine = await openEngine();
    await expect(engine.execute(singleBlockSource, { n: 1n } as never)).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('"n" is a bigint') as string,
    });
    expect((await engine.listRuns()).runs).toEqual([]);
  });

  it.each<[string, unknown, string]>([
    ['a function', { form: [() => 1] }, '"form.0" is a function'],
    ['a bigint', { form: { n: 1n } }, '"form.n" is a bigint'],
    ['a value that contains itself', createCircularValue(), 'contains itself'],
  ])('%s in an answer is rejected with its path, and the pause stays open', async (_, input, message) => {
    const engine = await openEngine();
    const pausingSource = { workflow: workflow([block('H', 'human_in_the_loop')], ['Start -> H']) };
    const { runId } = await engine.execute(pausingSource);
    await expect(engine.resume(runId, { input: input as never })).rejects.toMatchObject({
      code: 'RESUME_INPUT_INVALID',
      message: expect.stringContaining(message) as string,
    });
    const date = new Date(0);
    const result = await engine.resume(runId, { input: { at: date, none: undefined } as never });
    expect(result).toMatchObject({ status: 'completed', output: { submission: { at: date.toJSON() } } });
  });

  it.each<[string, unknown, string]>([
    ['a function', { fields: { n: [() => 1] } }, '"edits.fields" cannot be recorded: "n.0" is a function'],
    [
      'a bigint',
      { outputs: { A: { n: 1n } } },
      '"edits.outputs" for "A" cannot be recorded: "n" is a bigint',
    ],
    ['a value that contains itself', { outputs: { A: createCircularValue() } }, 'contains itself'],
  ])('%s in an edit is rejected with its path, and no run starts', async (_, edits, message) => {
    const returnEmptyOutput = () => ({ output: {} });
    const engine = await openEngine({
      blocks: [new ScriptedExecutor({ A: returnEmptyOutput, B: returnEmptyOutput }).executor],
    });
    const { runId } = await engine.execute({
      workflow: workflow([work('A'), block('B', 'work', { n: 1 })], ['Start -> A -> B']),
    });
    await expect(engine.runFromBlock(runId, 'B', { edits: edits as never })).rejects.toMatchObject({
      code: 'OPTIONS_INVALID',
      message: expect.stringContaining(message) as string,
    });
    expect((await engine.listRuns()).runs).toHaveLength(1);
  });

  it('invalid mocks are rejected with the path of every error', async () => {
    const engine = await openEngine();
    const mocks = { blocks: { A: [] }, types: { agent: [[1]] } };
    await expect(engine.execute(singleBlockSource, {}, { mocks })).rejects.toMatchObject({
      code: 'OPTIONS_INVALID',
      message: expect.stringMatching(/blocks\.A.*types\.agent/) as string,
    });
  });

  it('mocks of unknown blocks are reported, and the run continues', async () => {
    const errorMessages: string[] = [];
    const engine = await openEngine({
      blocks: [new ScriptedExecutor({ A: () => ({ output: {} }) }).executor],
      onError: (error) => errorMessages.push((error as Error).message),
    });
    const result = await engine.execute(singleBlockSource, {}, { mocks: { blocks: { Nope: 1 } } });
    expect(result.status).toBe('completed');
    expect(errorMessages).toEqual([expect.stringContaining('"Nope"')]);
  });

  it('an error that code throws is reported with the line of its source', async () => {
    const engine = await openEngine();
    const definition = workflow([fn('A', 'const a = 1;\nthrow new Error("here " + a);')], ['Start -> A']);
    const { error } = await engine.execute({ workflow: definition });
    expect(error?.message).toMatch(/here 1/);
    expect(error?.message).toContain('throw new Error("here " + a);');
  });

  it('a signal has no listeners after its runs have ended', async () => {
    const engine = await openEngine({
      blocks: [new ScriptedExecutor({ A: () => ({ output: {} }) }).executor],
    });
    const { signal } = new AbortController();
    let listenerCount = 0;
    const countingSignal = {
      aborted: false,
      addEventListener: (...args: Parameters<AbortSignal['addEventListener']>) => {
        listenerCount += 1;
        signal.addEventListener(...args);
      },
      removeEventListener: () => (listenerCount -= 1),
    } as unknown as AbortSignal;
    for (let n = 0; n < 3; n++) await engine.execute(singleBlockSource, {}, { signal: countingSignal });
    expect(listenerCount).toBe(0);
  });
});

function createCircularValue(): { [key: string]: unknown } {
  const value: { [key: string]: unknown } = {};
  value['self'] = value;
  return value;
}
