import { createEngine } from '@heddle/engine';
import type { Engine, EngineOptions } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { Script, work } from '../support/scripted.ts';
import { TestClock } from '../support/test-clock.ts';
import { block, fn, workflow } from '../support/workflow.ts';

const chain = { workflow: workflow([work('A')], ['Start -> A']) };

async function open(options: EngineOptions = {}): Promise<Engine> {
  const engine = await createEngine(options);
  onTestFinished(() => engine.close({ graceMs: 0 }));
  return engine;
}

/** An engine whose blocks of the type `work` do `execute`. */
function doing(execute: () => unknown): Promise<Engine> {
  return open({ blocks: [{ types: ['work'], class: 'effect', execute: execute as never }] });
}

describe('runs that are not there', () => {
  it.each([
    ['getRun', (engine: Engine) => engine.getRun('ghost')],
    ['getLogs', (engine: Engine) => engine.getLogs('ghost')],
    ['resume', (engine: Engine) => engine.resume('ghost')],
    ['cancel', (engine: Engine) => engine.cancel('ghost')],
    ['attach', (engine: Engine) => engine.attach('ghost')],
    ['runFromBlock', (engine: Engine) => engine.runFromBlock('ghost', 'A')],
  ])('%s says RUN_NOT_FOUND, with the id', async (_name, ask) => {
    await expect(ask(await open())).rejects.toMatchObject({
      code: 'RUN_NOT_FOUND',
      message: expect.stringContaining('ghost') as string,
    });
  });
});

describe('an engine that is closed', () => {
  it.each([
    ['execute', (engine: Engine) => engine.execute(chain)],
    ['deploy', (engine: Engine) => engine.deploy(chain.workflow)],
    ['getRun', (engine: Engine) => engine.getRun('r')],
    ['getLogs', (engine: Engine) => engine.getLogs('r')],
    ['listRuns', (engine: Engine) => engine.listRuns()],
    ['resume', (engine: Engine) => engine.resume('r')],
    ['cancel', (engine: Engine) => engine.cancel('r')],
    ['attach', (engine: Engine) => engine.attach('r')],
    ['runFromBlock', (engine: Engine) => engine.runFromBlock('r', 'A')],
  ])('%s says ENGINE_CLOSED', async (_name, ask) => {
    const engine = await open();
    await engine.close();
    await expect(ask(engine)).rejects.toMatchObject({ code: 'ENGINE_CLOSED' });
  });

  it('tells those who wait for a run', async () => {
    const script = new Script();
    const engine = await open({ blocks: [script.executor] });
    const run = await engine.start(chain);
    await script.called('A');
    const waiting = [run.result(), run.events()[Symbol.asyncIterator]().next()];
    await Promise.all([
      engine.close({ graceMs: 0 }),
      ...waiting.map((one) => expect(one).rejects.toMatchObject({ code: 'ENGINE_CLOSED' })),
    ]);
    await expect(run.result()).rejects.toMatchObject({ code: 'ENGINE_CLOSED' });
    await expect(run.cancel()).rejects.toMatchObject({ code: 'ENGINE_CLOSED' });
  });

  it('closes at once while a run waits for a person in a child', async () => {
    const clock = new TestClock();
    const engine = await open({ clock });
    await engine.deploy(workflow([block('H', 'human_in_the_loop')], ['Start -> H'], { id: 'child' }));
    const call = block('W', 'workflow_input', { workflowId: 'child', inputMapping: '{}' });
    const run = await engine.start({ workflow: workflow([call], ['Start -> W']) });
    await run.result();
    // The grace never passes on this clock.
    expect(await engine.close({ graceMs: 1 })).toBeUndefined();
  });
});

describe('executors that do not behave', () => {
  it.each([
    ['nothing', () => undefined, /returned no result/],
    ['a text', () => 'done', /returned no result/],
    ['no output', () => ({ result: 1 }), /returned no result/],
    [
      'a wait without an end',
      () => ({ waitUntilMs: Number.NaN, waiting: {}, output: {} }),
      /returned no result/,
    ],
    ['a bigint', () => ({ output: { deep: [{ n: 1n }] } }), /"deep\.0\.n" is a bigint/],
    ['a function', () => ({ output: { call: () => 1 } }), /"call" is a function/],
    ['a value that contains itself', () => ({ output: circular() }), /contains itself/],
  ])('one that gives %s fails its block with a clear message', async (_what, execute, message) => {
    const engine = await doing(execute);
    const result = await engine.execute(chain);
    expect(result).toMatchObject({
      status: 'failed',
      error: { code: 'BLOCK_FAILED', details: { blockName: 'A' } },
    });
    expect(result.error?.message).toMatch(message);
  });

  it.each([
    ['a text', 'plainly', 'plainly'],
    ['nothing', undefined, 'The block threw undefined, which is no error.'],
    ['an object', { code: 7 }, 'The block threw {"code":7}, which is no error.'],
    ['an object without anything', Object.create(null), 'The block threw {}, which is no error.'],
    ['a value that contains itself', circular(), 'The block threw a object, which is no error.'],
    ['an error without a message', new TypeError(), 'TypeError'],
  ])('one that throws %s fails its block', async (_what, thrown, message) => {
    const engine = await doing(() => {
      throw thrown;
    });
    expect(await engine.execute(chain)).toMatchObject({
      status: 'failed',
      error: { code: 'BLOCK_FAILED', message },
    });
  });

  it('one that does not heed its signal holds up neither cancel nor close', async () => {
    const clock = new TestClock();
    const script = new Script();
    const deaf = {
      types: ['work'],
      class: 'effect' as const,
      execute: () => new Promise<never>(() => undefined),
    };
    const engine = await open({ clock, blocks: [deaf], concurrency: { engine: 1, run: 1 } });
    const first = await engine.start(chain);
    expect(await engine.cancel(first.runId)).toBe(true);
    expect(await first.result()).toMatchObject({ status: 'cancelled' });
    await engine.start(chain);
    await engine.close({ graceMs: 0 });
    expect(script.calls).toEqual([]);
  });

  it('one that was stopped while it waited for a place is never called, and its place is free', async () => {
    const script = new Script();
    const engine = await open({ blocks: [script.executor], concurrency: { engine: 1, run: 1 } });
    const first = await engine.start(chain);
    const call = await script.called('A');
    const second = await engine.start(chain);
    await second.cancel();
    const third = await engine.start(chain);
    call.done();
    (await script.called('A')).done({ n: 3 });
    expect(await third.result()).toMatchObject({ status: 'completed', output: { n: 3 } });
    expect(await first.result()).toMatchObject({ status: 'completed' });
    expect(script.calls).toHaveLength(2);
  });

  it('one that changes what it has read changes nothing of the run', async () => {
    const engine = await open({
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
    const drawn = workflow(
      [fn('A', 'return [1]'), block('B', 'work', { list: '<a.result>' }), fn('Z', 'return <a.result>')],
      ['Start -> A -> B -> Z'],
    );
    const result = await engine.execute({ workflow: drawn });
    expect(result).toMatchObject({ output: { result: [1] } });
    const logs = await engine.getLogs(result.runId);
    expect(logs.find(({ blockName }) => blockName === 'B')).toMatchObject({ input: { list: [1] } });
  });
});

describe('what callers give', () => {
  it('is refused when it is not JSON', async () => {
    const engine = await open();
    await expect(engine.execute(chain, { n: 1n } as never)).rejects.toMatchObject({
      code: 'INPUT_INVALID',
      message: expect.stringContaining('"n" is a bigint') as string,
    });
    expect((await engine.listRuns()).runs).toEqual([]);
  });

  it('mocks that are not valid are refused with the path of every fault', async () => {
    const engine = await open();
    const mocks = { blocks: { A: [] }, types: { agent: [[1]] } };
    await expect(engine.execute(chain, {}, { mocks })).rejects.toMatchObject({
      code: 'OPTIONS_INVALID',
      message: expect.stringMatching(/blocks\.A.*types\.agent/) as string,
    });
  });

  it('mocks of blocks that are not there are told, and the run goes on', async () => {
    const told: string[] = [];
    const engine = await open({
      blocks: [new Script({ A: () => ({ output: {} }) }).executor],
      onError: (error) => told.push((error as Error).message),
    });
    const result = await engine.execute(chain, {}, { mocks: { blocks: { Nope: 1 } } });
    expect(result.status).toBe('completed');
    expect(told).toEqual([expect.stringContaining('"Nope"')]);
  });

  it('code that fails is told with its authored line', async () => {
    const engine = await open();
    const drawn = workflow([fn('A', 'const a = 1;\nthrow new Error("here " + a);')], ['Start -> A']);
    const { error } = await engine.execute({ workflow: drawn });
    expect(error?.message).toMatch(/here 1/);
    expect(error?.message).toContain('throw new Error("here " + a);');
  });

  it('a signal that outlives its runs holds none of them', async () => {
    const engine = await open({ blocks: [new Script({ A: () => ({ output: {} }) }).executor] });
    const { signal } = new AbortController();
    let listening = 0;
    const counting = {
      aborted: false,
      addEventListener: (...given: Parameters<AbortSignal['addEventListener']>) => {
        listening += 1;
        signal.addEventListener(...given);
      },
      removeEventListener: () => (listening -= 1),
    } as unknown as AbortSignal;
    for (let n = 0; n < 3; n++) await engine.execute(chain, {}, { signal: counting });
    expect(listening).toBe(0);
  });
});

function circular(): { [key: string]: unknown } {
  const value: { [key: string]: unknown } = {};
  value['self'] = value;
  return value;
}
