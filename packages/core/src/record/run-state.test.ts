import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '../json.ts';
import type { Command } from '../machine/index.ts';
import type { Plan } from '../plan/plan.ts';
import { compile } from '../plan/compile.ts';
import { parseWorkflow } from '../schema/parse.ts';
import { block, condition, fn, loop, parallel, workflow } from '../../../../test/support/workflow.ts';
import { JOURNAL_FORMAT } from './entry.ts';
import type { Entry, EntryBody } from './entry.ts';
import { RunState } from './run-state.ts';
import { materialize } from './stored-value.ts';

/** The result of an attempt: an output, or `error` with the failure, or `port` with the port taken. */
type AttemptResult = JsonObject;

function planOf(file: Json): Plan {
  const { workflow: parsed } = parseWorkflow(file);
  const compiled = parsed && compile(parsed);
  if (!compiled?.ok) throw new Error(JSON.stringify(compiled?.diagnostics));
  return compiled.plan;
}

/** Drives a run. */
class Driver {
  readonly runState: RunState;
  readonly entries: Entry[] = [];
  readonly plan: Plan;
  #pending: Command[] = [];
  #atMs = 1000;

  constructor(file: Json) {
    this.plan = planOf(file);
    this.runState = new RunState('run', this.plan);
    this.post({
      type: 'started',
      format: 1,
      start: this.plan.start,
      input: { v: {} },
      graceMs: 0,
      variables: {},
    });
  }

  post(body: EntryBody): boolean {
    const entry: Entry = { seq: this.runState.seq + 1, atMs: ++this.#atMs, ...body };
    const applyResult = this.runState.apply(entry);
    if (!applyResult.changed) return false;
    this.entries.push(entry);
    this.#pending.push(...applyResult.commands);
    return true;
  }

  /**
   * Executes pending commands, the first or the last one first, until none is pending. `resultOf` returns the result of
   * each attempt of a block; every `expand` command gets two items.
   */
  executeAll(resultOf: (name: string) => AttemptResult, pick: 'first' | 'last' = 'first'): this {
    for (;;) {
      const command = pick === 'first' ? this.#pending.shift() : this.#pending.pop();
      if (!command) return this;
      if (command.type === 'run') this.#finishAttempt(command, resultOf);
      if (command.type === 'expand') {
        const place = this.runState.index.placeOf(command.at);
        this.post({ type: 'expanded', ...place, turn: command.turn, count: 2, items: { v: ['x', 'y'] } });
      }
    }
  }

  #finishAttempt(
    command: Extract<Command, { type: 'run' }>,
    resultOf: (name: string) => AttemptResult,
  ): void {
    const place = this.runState.index.placeOf(command.at);
    const result = resultOf([place.block, ...place.scope].join('.'));
    const attempt = { ...place, try: command.try, startedMs: this.#atMs };
    if (typeof result['error'] === 'string') {
      this.post({
        type: 'failed',
        ...attempt,
        error: { code: 'X', message: result['error'], retryable: false },
      });
    } else if (typeof result['port'] === 'string')
      this.post({ type: 'completed', ...attempt, port: result['port'], output: { v: {} } });
    else this.post({ type: 'completed', ...attempt, output: { v: result } });
  }

  output(): Json | undefined {
    const { output } = this.runState.ledger;
    return output && materialize(output, () => null);
  }
}

const outputOf = (name: string): AttemptResult => ({ at: name });

describe('a run as a fold over its journal', () => {
  it('results contain, per iteration, the outputs of the blocks that ran, in order of completion (R36)', () => {
    const driver = new Driver(
      workflow(
        [loop('L', { loopType: 'for', count: 2 }, fn('A', ''), fn('B', ''))],
        ['Start -> L -> A', 'L -> B'],
      ),
    );
    driver.executeAll(outputOf, 'last');
    expect(driver.output()).toMatchObject({
      results: [
        [{ at: 'B.0' }, { at: 'A.0' }],
        [{ at: 'B.1' }, { at: 'A.1' }],
      ],
    });
  });

  it('results of branches are in branch order, even if they end in another order (R36)', () => {
    const driver = new Driver(
      workflow([parallel('P', { parallelType: 'count', count: 3 }, fn('A', ''))], ['Start -> P -> A']),
    );
    driver.executeAll(outputOf, 'last');
    expect(driver.output()).toMatchObject({ results: [[{ at: 'A.0' }], [{ at: 'A.1' }], [{ at: 'A.2' }]] });
  });

  it('an iteration in which nothing ran adds nothing; a nested container adds its results (R36)', () => {
    const innerLoop = loop('M', { loopType: 'for', count: 1 }, fn('A', ''));
    const driver = new Driver(
      workflow(
        [loop('L', { loopType: 'for', count: 2 }, condition('C', { yes: 'true' }), innerLoop)],
        ['Start -> L -> C', 'C:yes -> M -> A'],
      ),
    );
    driver.executeAll((name) => (name === 'C.1' ? { port: 'condition-yes' } : outputOf(name)));
    expect(driver.output()).toMatchObject({
      results: [[{ at: 'C.0' }], [{}, { results: [[{ at: 'A.1.0' }]] }]],
    });
  });

  it('the run’s output is that of the last finished terminal block (R37)', () => {
    const file = workflow(
      [fn('A', ''), fn('B', ''), fn('H', '')],
      ['Start -> A', 'Start -> B', 'A:error -> H'],
    );
    expect(new Driver(file).executeAll(outputOf).output()).toEqual({ at: 'B' });
    expect(new Driver(file).executeAll(outputOf, 'last').output()).toEqual({ at: 'A' });
  });

  it('a Response that has finished determines the output (R37)', () => {
    const file = workflow([block('R', 'response', {}), fn('B', '')], ['Start -> R', 'Start -> B']);
    const driver = new Driver(file).executeAll(outputOf);
    expect(driver.output()).toEqual({ at: 'R' });
    expect(driver.runState.machineState.end).toEqual({ status: 'completed' });
  });

  it('a failed run names the block and keeps the output of a terminal block that had finished (R37)', () => {
    const driver = new Driver(workflow([fn('T', ''), fn('A', '')], ['Start -> T', 'Start -> A']));
    driver.executeAll((name) => (name === 'A' ? { error: 'boom' } : outputOf(name)));
    expect(driver.runState.error).toMatchObject({ code: 'X', message: 'boom', blockId: 'A', blockName: 'A' });
    expect(driver.output()).toEqual({ at: 'T' });
  });

  it('executionOrder counts starts over the whole run; a container counts when it ends (R38)', () => {
    const driver = new Driver(
      workflow(
        [loop('L', { loopType: 'for', count: 2 }, fn('A', '')), fn('Z', '')],
        ['Start -> L -> A', 'L -> Z'],
      ),
    );
    driver.executeAll(outputOf);
    const secondRunState = new RunState('run', driver.plan);
    const logs = new Map(
      driver.entries
        .flatMap((entry) => secondRunState.apply(entry).logs)
        .map((log) => [log.executionOrder, log]),
    );
    expect(
      [...logs.values()].map(({ executionOrder, blockName, container }) => [
        executionOrder,
        blockName,
        container?.index,
      ]),
    ).toEqual([
      [1, 'Start', undefined],
      [2, 'A', 0],
      [3, 'A', 1],
      [4, 'L', undefined],
      [5, 'Z', undefined],
    ]);
  });

  it('two folds of one journal are equal, and late entries change nothing (R41)', () => {
    const file = workflow(
      [
        parallel(
          'P',
          { parallelType: 'collection', collection: '<start.l>' },
          fn('A', ''),
          loop('L', { loopType: 'for', count: 2 }, fn('B', '')),
        ),
        fn('Z', ''),
      ],
      ['Start -> P -> A -> L -> B', 'P -> Z'],
    );
    const driver = new Driver(file).executeAll(outputOf, 'last');
    const secondRunState = new RunState('run', driver.plan);
    for (const entry of driver.entries) {
      expect(secondRunState.apply(JSON.parse(JSON.stringify(entry)) as Entry).changed).toBe(true);
      expect(secondRunState.apply(entry).changed).toBe(false);
    }
    expect(secondRunState.machineState).toEqual(driver.runState.machineState);
    expect(secondRunState.ledger.output).toEqual(driver.runState.ledger.output);
    expect([...secondRunState.ledger.variables]).toEqual([...driver.runState.ledger.variables]);
    expect(secondRunState.pendingCommands()).toEqual([]);
  });

  it('a branch never sees outputs of another branch, even from an earlier execution (R35)', () => {
    const innerParallel = parallel(
      'P',
      { parallelType: 'count', count: 2 },
      condition('C', { yes: 'true' }),
      fn('A', ''),
    );
    const driver = new Driver(
      workflow(
        [loop('L', { loopType: 'for', count: 2 }, innerParallel)],
        ['Start -> L -> P -> C', 'C:yes -> A'],
      ),
    );
    const observed: unknown[] = [];
    driver.executeAll((name) => {
      const [id, iteration, branch] = name.split('.');
      if (id === 'C') {
        const place = { block: 'C', scope: [Number(iteration), Number(branch)] };
        const scope = driver.runState.ledger.scopeAt(place);
        observed.push([name, scope?.outputs.has('A')]);
        return iteration === '0' ? { port: 'condition-yes' } : outputOf(name);
      }
      return outputOf(name);
    });
    expect(observed).toEqual([
      ['C.0.0', false],
      ['C.0.1', false],
      ['C.1.0', false],
      ['C.1.1', false],
    ]);
  });

  it('a later iteration sees outputs of an earlier one (R34)', () => {
    const driver = new Driver(
      workflow(
        [loop('L', { loopType: 'for', count: 2 }, condition('C', { yes: 'true' }), fn('A', ''))],
        ['Start -> L -> C', 'C:yes -> A'],
      ),
    );
    const observed: unknown[] = [];
    driver.executeAll((name) => {
      if (!name.startsWith('C')) return outputOf(name);
      const scope = driver.runState.ledger.scopeAt({ block: 'C', scope: [0] });
      observed.push(scope?.outputs.get('A')?.value);
      return name === 'C.0' ? { port: 'condition-yes' } : outputOf(name);
    });
    expect(observed).toEqual([undefined, { v: { at: 'A.0' } }]);
  });

  it('a block has one current output: its error if it failed, and none if it was skipped (R33)', () => {
    const driver = new Driver(
      workflow([fn('A', ''), fn('B', ''), fn('H', '')], ['Start -> A -> B', 'A:error -> H']),
    );
    driver.executeAll((name) => (name === 'A' ? { error: 'no' } : outputOf(name)));
    const { outputs } = driver.runState.ledger.root;
    expect(outputs.get('A')).toMatchObject({ failed: true, value: { v: { error: 'no' } } });
    expect(outputs.get('H')).toMatchObject({ failed: false, value: { v: { at: 'H' } } });
    expect(outputs.has('B')).toBe(false);
  });

  it('a journal of a newer format is refused with an error code (R41)', () => {
    const { plan } = new Driver(workflow([fn('A', '')], ['Start -> A']));
    const started = {
      type: 'started',
      format: JOURNAL_FORMAT + 1,
      start: plan.start,
      input: { v: {} },
      graceMs: 0,
      variables: {},
    } as const;
    const applyStarted = (): unknown => new RunState('run', plan).apply({ seq: 1, atMs: 1, ...started });
    expect(applyStarted).toThrow(expect.objectContaining({ code: 'DATA_FORMAT_UNSUPPORTED' }));
  });

  it('handled failures are removed, so that a loop of failures does not use more and more memory', () => {
    const failingLoop = loop('M', { loopType: 'for', count: 1 }, fn('A', ''));
    const driver = new Driver(
      workflow(
        [loop('L', { loopType: 'for', count: 50 }, failingLoop, fn('H', ''))],
        ['Start -> L -> M -> A', 'M:error -> H'],
      ),
    );
    driver.executeAll((name) => (name.startsWith('A') ? { error: `no ${name}` } : outputOf(name)));
    expect(driver.runState.machineState.end).toEqual({ status: 'completed' });
    expect(driver.runState.ledger.failures.size).toBe(0);
    expect(driver.runState.ledger.root.outputs.get('M')?.value).toEqual({ v: { error: 'no A.49.0' } });
  });
});
