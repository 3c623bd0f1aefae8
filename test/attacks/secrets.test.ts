import { createSandbox, type FunctionJob, type Sandbox } from '@heddle/sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { functionExecutor } from '../../packages/engine/src/executors/function.ts';
import { contextOf, type BlockFixture } from '../support/block.ts';
import { HOSTILE_STRINGS } from './hostile-strings.ts';
import { sampleLevels } from './levels.ts';
import { watchHost } from './watch.ts';

watchHost();

const JAVASCRIPT_CODE =
  'return [{{K}}, "{{K}}", `{{K}}`, environmentVariables.K, <p.result.s>, typeof globalThis.pwned, typeof pwned] // {{K}} <p.result.s>';
const PYTHON_CODE = `# {{K}} <p.result.s>
x = [{{K}}, "{{K}}", '''{{K}}''', environmentVariables["K"], <p.result.s>]
return x + ["pwned" in globals()]`;

describe.each(sampleLevels())('secrets with hostile values, isolation $name', ({ options }) => {
  let sandbox: Sandbox;
  const jobs: FunctionJob[] = [];
  beforeAll(() => {
    sandbox = createSandbox({ ...options, maxProcesses: 1, python: { maxProcesses: 1 } });
  });
  afterAll(() => sandbox.close());

  /** Runs a function block and returns its result. Adds the jobs that the sandbox receives to `jobs`. */
  async function runBlock(
    secret: string,
    language: 'javascript' | 'python',
    code: string,
  ): Promise<unknown[]> {
    const fixture: BlockFixture = {
      language,
      code,
      env: { K: secret },
      outputs: { P: { result: { s: secret }, stdout: '' } },
      services: {
        sandbox: async () => ({
          run: async (job) => {
            jobs.push(job);
            return sandbox.run(job);
          },
          evaluate: (job) => sandbox.evaluate(job),
        }),
      },
    };
    const { output } = (await functionExecutor.execute(contextOf(fixture))) as {
      output: { result: unknown[] };
    };
    return output.result;
  }

  it.each(HOSTILE_STRINGS)('are JavaScript values, and never part of the code: %j', async (secret) => {
    expect(await runBlock(secret, 'javascript', JAVASCRIPT_CODE)).toEqual([
      secret,
      secret,
      secret,
      secret,
      secret,
      'undefined',
      'undefined',
    ]);
    if (secret.length > 4) expect(jobs.at(-1)?.code).not.toContain(secret);
  });

  it('are Python values, and never part of the code', { timeout: 120_000 }, async () => {
    for (const secret of HOSTILE_STRINGS) {
      expect(await runBlock(secret, 'python', PYTHON_CODE)).toEqual([
        secret,
        secret,
        secret,
        secret,
        secret,
        false,
      ]);
      if (secret.length > 4) expect(jobs.at(-1)?.code).not.toContain(secret);
    }
  });
});
