import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createEngine, isEngineError } from '@heddle/engine';
import type { Engine, RunResource } from '@heddle/engine';
import { afterAll, describe, expect, it } from 'vitest';
import { outcomeCases } from './cases.ts';
import type { OutcomeCase } from './cases.ts';
import { difference, faultDifference } from './compare.ts';
import { ranDifference } from './ran.ts';

const cases = outcomeCases();
const folder = mkdtempSync(join(tmpdir(), 'heddle-outcomes-'));

afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe.each([
  ['memory', undefined],
  ['SQLite', folder],
])('recorded outcomes on %s', (_name, data) => {
  const engines = new Map<string, Promise<Engine>>();

  afterAll(async () => {
    for (const engine of engines.values()) await (await engine).close();
  });

  /** One engine for each environment: its values are options of an engine. */
  function engineFor(env: { [name: string]: string } = {}): Promise<Engine> {
    const id = JSON.stringify(env);
    const open = Object.entries(env).map(([name, value]) => [name, { value, secret: false as const }]);
    const engine =
      engines.get(id) ??
      createEngine({
        env: Object.fromEntries(open),
        // With one process, code that is asked for first is done first: the records are of such an order.
        sandbox: { maxProcesses: 1 },
        ...(data && { data: join(data, String(engines.size)) }),
      });
    engines.set(id, engine);
    return engine;
  }

  it.each(cases.map((outcome) => [outcome.id, outcome.title, outcome] as const))(
    '%s %s',
    async (_id, _title, outcome) => {
      const engine = await engineFor(outcome.env);
      const result = await engine
        .execute({ workflow: outcome.workflow }, outcome.input)
        .catch((error: unknown) => (isEngineError(error) ? error : Promise.reject(error as Error)));
      if ('runId' in result)
        expect((await judge(engine, outcome, result)) ?? 'as recorded').toBe('as recorded');
      else expect(mayBeRefused(outcome), result.message).toBe(true);
    },
  );
});

it('reads all of the recorded cases', () => {
  expect(cases).toHaveLength(507);
});

/** Refusing is right where a decision says so, where nothing ran before the failure, and for containers that nothing runs in. */
function mayBeRefused({ heddle, outcome, id }: OutcomeCase): boolean {
  return heddle?.invalid === true || outcome.beforeRun === true || EMPTY_CONTAINERS.has(id);
}

/** Cases whose record a decision overrides though the file does not say so: what Heddle gives. */
const DECIDED: { [id: string]: NonNullable<OutcomeCase['heddle']> } = {
  // Decision 48: `<variable.My Var>` works as its normalised forms do.
  r267: { success: true, output: { result: ['v', 'v', 'v'], stdout: '' } },
  // Decision 42: a trailing `;` in a loop's condition is fine, so `false;` is a loop without turns.
  r507: { success: true, output: { result: [], stdout: '' } },
};

/** Fail at run time elsewhere; decision 54 refuses them. */
const EMPTY_CONTAINERS = new Set(['r069', 'r529', 'r615']);

async function judge(engine: Engine, recorded: OutcomeCase, run: RunResource): Promise<string | undefined> {
  const { outcome, compare } = recorded;
  const decided = DECIDED[recorded.id] ?? recorded.heddle;
  const success = decided?.success ?? outcome.success;
  if (success !== (run.status === 'completed')) return `status is ${run.status}: ${run.error?.message ?? ''}`;
  if (decided) return decidedDifference(decided, run);
  if (outcome.beforeRun) return undefined;
  const differs = failureDifference(outcome, run) ?? difference(outcome.output, run.output);
  return differs ?? ranDifference(outcome.blocks, await engine.getLogs(run.runId), compare === 'full');
}

function decidedDifference(
  decided: NonNullable<OutcomeCase['heddle']>,
  run: RunResource,
): string | undefined {
  if (decided.invalid) return 'was to be refused';
  return 'output' in decided ? difference(decided.output, run.output) : undefined;
}

function failureDifference(outcome: OutcomeCase['outcome'], run: RunResource): string | undefined {
  if (outcome.success) return undefined;
  const fault = faultDifference(outcome.error, run.error?.message, 'error');
  const named = (run.error?.details as { blockName?: string } | undefined)?.blockName;
  const there = outcome.errorBlock === undefined || named === outcome.errorBlock;
  return fault ?? (there ? undefined : `failed at ${named}, not ${outcome.errorBlock}`);
}
