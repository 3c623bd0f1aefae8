import type { Json } from '@heddle/core';
import type { Engine, EngineOptions, TenantEnvironments } from '@heddle/engine';
import { describe, expect, it } from 'vitest';
import { block, fn, workflow } from '../../support/workflow.ts';
import type { MakeRuntime } from './runtime-under-test.ts';

const SECRET = 'sk-very-secret';

/**
 * Returns engine options with these environment values by tenant. Workflows with the ids `of-a-…` belong to the tenant
 * `a`.
 */
function tenantOptions(values: { [tenant: string]: { [name: string]: string } }): EngineOptions {
  const environments: TenantEnvironments = {
    names: async (tenant) => Object.keys(values[tenant] ?? {}),
    values: async (tenant, names) =>
      Object.fromEntries(
        names.flatMap((name) => Object.entries(values[tenant] ?? {}).filter(([key]) => key === name)),
      ),
  };
  return { environments, tenant: async (id) => (id.startsWith('of-') ? id.split('-')[1] : undefined) };
}

/** Returns the records and logs of all runs as JSON. */
async function readRecords(engine: Engine): Promise<string> {
  const { runs } = await engine.listRuns();
  const details = runs.map(async ({ runId }) => [await engine.getRun(runId), await engine.getLogs(runId)]);
  return JSON.stringify(await Promise.all(details));
}

const sourceOf = (id: string, code: string): { workflow: Json } => ({
  workflow: workflow([fn('F', code)], ['Start -> F'], { id }),
});

/** Defines the tests of environments of tenants, and of the values that are redacted in each run. */
export function describeEnvironments(makeRuntime: MakeRuntime): void {
  describe('environments', () => {
    it('a run reads only the values of its tenant, not those of the engine or of another tenant', async () => {
      const engine = await makeRuntime().open({
        env: { OWN: 'value-of-the-engine' },
        ...tenantOptions({ a: { KEY: 'key-of-tenant-a' }, b: { KEY: 'key-of-tenant-b!' } }),
      });
      const code = 'return [{{KEY}}?.length, {{OWN}}?.length, Object.keys(environmentVariables)]';
      const runAndSummarize = async (id: string) => {
        const { output, error } = await engine.execute(sourceOf(id, code.replace('{{OWN}}', '""')));
        return error?.code ?? (output as { result: Json }).result;
      };
      expect(await runAndSummarize('of-a-1')).toEqual([15, 0, ['KEY']]);
      expect(await runAndSummarize('of-b-1')).toEqual([16, 0, ['KEY']]);
      const ownCode = 'return [{{OWN}}.length, Object.keys(environmentVariables)]';
      expect(await engine.execute(sourceOf('plain', ownCode))).toMatchObject({
        output: { result: [19, ['OWN']] },
      });
      expect(
        await engine.execute(sourceOf('of-c-1', 'return Object.keys(environmentVariables)')),
      ).toMatchObject({
        output: { result: [] },
      });
    });

    it('a tenant has no values if no environments are configured', async () => {
      const engine = await makeRuntime().open({ env: { KEY: SECRET }, tenant: () => 'a' });
      const result = await engine.execute(
        sourceOf('w', 'return [Object.keys(environmentVariables), "{{KEY}}"]'),
      );
      expect(result).toMatchObject({ output: { result: [[], '{{KEY}}'] } });
    });

    it('only values that its blocks can read are redacted in the data of a run, so that a workflow cannot probe other secrets', async () => {
      const engine = await makeRuntime().open({ env: { KEY: SECRET, OTHER: 'another-secret' } });
      const guess = `guess ${SECRET} another-secret`;
      const run = async (code: string) => (await engine.execute(sourceOf('w', code), { guess })).output;
      expect(await run('return <start.guess>')).toMatchObject({ result: guess });
      expect(await run('const k = {{KEY}}; return <start.guess>')).toMatchObject({
        result: 'guess «redacted:KEY» another-secret',
      });
      expect(await run('environmentVariables; return <start.guess>')).toMatchObject({
        result: 'guess «redacted:KEY» «redacted:OTHER»',
      });
      const secretFields = { secretScope: 'selected', mountedSecrets: ['OTHER'] };
      const definition = workflow(
        [block('F', 'function', { code: 'environmentVariables; return <start.guess>', ...secretFields })],
        ['Start -> F'],
      );
      expect(await engine.execute({ workflow: definition }, { guess })).toMatchObject({
        output: { result: `guess ${SECRET} «redacted:OTHER»` },
      });
    });

    it('a secret that is passed to a child without access to it is in no record', async () => {
      const engine = await makeRuntime().open({ env: { KEY: SECRET } });
      await engine.deploy(
        workflow([fn('F', 'return <start.topic>')], ['Start -> F'], {
          id: 'child',
          inputFormat: [{ id: 't', name: 'topic', type: 'string' }],
        }),
      );
      const mapping = '{"topic": "{{KEY}}"}';
      const caller = block('W', 'workflow_input', { workflowId: 'child', inputMapping: mapping });
      const result = await engine.execute({ workflow: workflow([caller], ['Start -> W']) });
      expect(result).toMatchObject({ output: { result: { result: '«redacted:KEY»' } } });
      expect(await readRecords(engine)).not.toContain(SECRET);
    });

    it('a numeric secret is redacted in numbers', async () => {
      const engine = await makeRuntime().open({ env: { NUM: '73501946' } });
      const definition = workflow(
        [
          block('V', 'variables', { variables: [{ variableName: 'n', type: 'number', value: '{{NUM}}' }] }),
          fn('F', 'return { n: Number({{NUM}}), negative: -Number({{NUM}}) }'),
          block('R', 'response', { dataMode: 'json', data: '{"n": {{NUM}}, "v": <variable.n>}' }),
        ],
        ['Start -> V -> F -> R'],
        { variables: { n: { type: 'number', value: 0 } } },
      );
      const result = await engine.execute({ workflow: definition }, {}, { select: ['F.result'] });
      expect(result.blockOutputs?.['F.result']).toEqual({ n: '«redacted:NUM»', negative: '«redacted:NUM»' });
      expect(result).toMatchObject({ status: 'completed' });
      expect(JSON.stringify(result) + (await readRecords(engine))).not.toContain('73501946');
    });

    it('secrets in the reason for a cancellation are redacted', async () => {
      const engine = await makeRuntime().open({ env: { KEY: SECRET } });
      const definition = workflow(
        [block('H', 'human_in_the_loop', {}), fn('Z', 'return {{KEY}}')],
        ['Start -> H -> Z'],
      );
      const run = await engine.start({ workflow: definition });
      await run.result();
      expect(await engine.cancel(run.runId, `because of ${SECRET}`)).toBe(true);
      expect(await readRecords(engine)).not.toContain(SECRET);
      expect(JSON.stringify(await engine.getRun(run.runId))).not.toContain(SECRET);
    });

    it('a run that needs an unreadable environment does not start, and the error does not reveal the reason', async () => {
      const reportedErrors: unknown[] = [];
      const fail = (): never => {
        throw new Error('password authentication failed at db.internal:5432');
      };
      const engine = await makeRuntime().open({
        environments: { names: fail, values: fail },
        tenant: () => 'a',
        onError: (error) => void reportedErrors.push(error),
      });
      await expect(engine.start(sourceOf('w', 'return {{KEY}}'))).rejects.toMatchObject({
        code: 'ENVIRONMENT_UNAVAILABLE',
        message: expect.not.stringContaining('db.internal') as string,
      });
      expect(reportedErrors).toContainEqual(
        expect.objectContaining({ message: expect.stringContaining('db.internal') as string }),
      );
      expect(await engine.execute(sourceOf('w', 'return 1'))).toMatchObject({ output: { result: 1 } });
    });
  });
}
