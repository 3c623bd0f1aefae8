import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runHeddle, normalizeOutput, startHeddle } from '../support/heddle.ts';
import { sample, sampledTests } from '../support/scale.ts';
import { describeTemporal } from '../support/temporal.ts';
import { APPROVAL_WORKFLOW, code, start } from '../support/workflow-file.ts';
import type { WorkflowSettings } from '../support/workflow-file.ts';
import { TEMPORAL_RUNTIME_ARGS, createProject } from './cli.ts';

const ADD_WORKFLOW: WorkflowSettings = {
  blocks: { s: start(), add: code('console.log("adding");\nreturn <start.a> + <start.b>;', { name: 'Add' }) },
  edges: ['s > add'],
};
const WAIT_WORKFLOW: WorkflowSettings = {
  blocks: { s: start(), nap: { type: 'wait', name: 'Nap', fields: { timeValue: '1', timeUnit: 'hours' } } },
  edges: ['s > nap'],
};

const sampledIt = sampledTests(1 / 2, 'tests of heddle run on Temporal');

describeTemporal('heddle run', (server) => {
  sampledIt('runs a file with its own worker, with the same output and progress as a local run', async () => {
    const project = createProject(server, ADD_WORKFLOW);
    const input = ['--input', '{"a": 1, "b": 2}'];
    const [remoteResult, localResult] = [
      await project.run(...input),
      await runHeddle(['run', 'flow.json', ...input, '--data', 'local'], { cwd: project.cwd }),
    ];
    expect(remoteResult.stdout).toBe('{\n  "result": 3,\n  "stdout": "adding"\n}\n');
    expect({ ...remoteResult, stderr: normalizeOutput(remoteResult.stderr) }).toEqual({
      ...localResult,
      stderr: normalizeOutput(localResult.stderr),
    });
    expect(remoteResult.exitCode).toBe(0);
    expect(await project.listRuns()).toMatchObject([{ status: 'completed' }]);
  });

  sampledIt(
    'exits with 1 for a failed block, and prints the command that continues on Temporal',
    async () => {
      const project = createProject(server, {
        blocks: { s: start(), bad: code('throw new Error("no luck")', { name: 'Bad' }) },
        edges: ['s > bad'],
      });
      const { exitCode, stdout, stderr } = await project.run();
      expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
      expect(stderr).toContain('no luck');
      expect(normalizeOutput(stderr)).toMatch(
        /heddle runs rerun RUN --from Bad flow.json --runtime temporal --address /,
      );
    },
  );

  sampledIt('with --json prints only the run, with the selected values', async () => {
    const { exitCode, stdout, stderr } = await createProject(server, ADD_WORKFLOW).run(
      '--json',
      '--input',
      '{"a": 2, "b": 2}',
      '--select',
      'add.result',
    );
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      data: { status: 'completed', output: { result: 4 }, blockOutputs: { 'add.result': 4 } },
    });
  });

  sampledIt('takes environment, mocks and children from its options', async () => {
    const project = createProject(server, {
      blocks: {
        s: start(),
        agent: { type: 'agent', name: 'Agent' },
        child: { type: 'workflow', name: 'Child', fields: { workflowId: 'kid' } },
        end: code('return [{{KEY}}, <agent.content>, <child.result>]', { name: 'End' }),
      },
      edges: ['s > agent', 'agent > child', 'child > end'],
    });
    const childWorkflow = {
      workflow: { id: 'kid', name: 'Kid' },
      state: { blocks: { s: { type: 'start_trigger', name: 'Start' } }, edges: [] },
    };
    writeFileSync(join(project.cwd, 'kid.json'), JSON.stringify(childWorkflow));
    const { exitCode, stdout, stderr } = await project.run(
      ...['--env', 'KEY=key-1234567', '--mock', 'agent={"content": "hi"}', '--workflows', '.'],
    );
    expect(exitCode, stderr).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ result: ['«redacted:KEY»', 'hi', {}] });
  });

  sampledIt('fails a run that exceeds its time limit, and exits with 1', async () => {
    const { exitCode, stderr } = await createProject(server, WAIT_WORKFLOW).run('--timeout', '1');
    expect(exitCode).toBe(1);
    expect(stderr).toContain('RUN_TIMEOUT');
  });

  sampledIt('is cancelled by Ctrl-C, and exits with 4', async () => {
    const project = createProject(server, WAIT_WORKFLOW);
    const command = project.start(['run', 'flow.json', ...TEMPORAL_RUNTIME_ARGS]);
    await command.waitForText('‖ Nap');
    command.child.kill('SIGINT');
    const { exitCode, stdout, stderr } = await command.result;
    expect({ exitCode, stdout }).toEqual({ exitCode: 4, stdout: '' });
    expect(stderr).toContain('Cancelling …');
    expect(await project.listRuns()).toMatchObject([{ status: 'cancelled' }]);
  });

  sampledIt(
    'exits with 3 when the run waits for a person, and the printed command continues the run',
    async () => {
      const project = createProject(server, APPROVAL_WORKFLOW);
      const runResult = await project.run();
      expect(runResult.exitCode).toBe(3);
      const [, command = ''] = /→ heddle (runs resume .*)/.exec(runResult.stderr) ?? [];
      expect(command).toContain('--runtime temporal --address');
      const [, subcommand, runId = '', , , ...rest] = command.split(' ');
      const { exitCode, stdout, stderr } = await runHeddle(
        ['runs', subcommand ?? '', runId, '--input', '{"ok": true}', ...rest],
        { cwd: project.cwd },
      );
      expect(JSON.parse(stdout || '0'), stderr).toMatchObject({ result: true });
      expect(exitCode).toBe(0);
    },
  );
});

describeTemporal('errors of heddle run before the run starts', (server) => {
  const runWith = async (args: readonly string[], env: { [name: string]: string } = {}) => {
    const { cwd } = createProject(server, ADD_WORKFLOW);
    return runHeddle(['run', 'flow.json', ...args], { cwd, env });
  };

  const INVALID_ARGUMENTS: [description: string, args: string[], message: string][] = [
    [
      'an unreachable server',
      [...TEMPORAL_RUNTIME_ARGS, '--address', '127.0.0.1:9'],
      '127.0.0.1:9 cannot be reached',
    ],
    [
      'a missing namespace',
      [...TEMPORAL_RUNTIME_ARGS, '--address', server.address, '--namespace', 'nowhere'],
      'The namespace "nowhere"',
    ],
    ['an invalid address', [...TEMPORAL_RUNTIME_ARGS, '--address', 'here'], 'Use HOST:PORT.'],
    ['an option of Temporal for a local run', ['--queue', 'q'], 'Add --runtime temporal.'],
    ['--no-worker without Temporal', ['--no-worker'], '--no-worker is for runs on Temporal.'],
    [
      'two stores',
      [...TEMPORAL_RUNTIME_ARGS, '--postgres', 'postgresql://x', '--data', 'd'],
      'cannot be used with',
    ],
    ['an unknown runtime', ['--runtime', 'cloud'], 'Allowed choices are local, temporal'],
  ];

  it.each(sample(INVALID_ARGUMENTS, 3, 'options that heddle run refuses on Temporal'))(
    'have the exit code 2 for %s',
    async (_, args, message) => {
      const { exitCode, stdout, stderr } = await runWith(args);
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
      expect(stderr).toContain(message);
    },
  );

  const INVALID_ENVIRONMENTS: [env: { [name: string]: string }, message: string][] = [
    [{ TEMPORAL_ADDRESS: '127.0.0.1:9' }, '127.0.0.1:9 cannot be reached'],
    [{ TEMPORAL_ADDRESS: server.address, TEMPORAL_NAMESPACE: 'nowhere' }, 'The namespace "nowhere"'],
    [{ TEMPORAL_TLS: 'perhaps' }, 'TEMPORAL_TLS must be true or false.'],
    [{ TEMPORAL_TLS_CLIENT_KEY_DATA: 'x' }, 'The client certificate or its key is missing'],
    [{ TEMPORAL_TLS_SERVER_CA_CERT_PATH: 'no-such.pem' }, 'Cannot read the file'],
    [
      { HEDDLE_ENCRYPTION_KEYS: `a=${'A'.repeat(43)}=,b=too-short` },
      'Key 2 of HEDDLE_ENCRYPTION_KEYS is not ID=KEY',
    ],
  ];

  it.each(sample(INVALID_ENVIRONMENTS, 3, 'environments of heddle run on Temporal'))(
    'have the exit code 2 for an invalid environment variable: %j',
    async (env, message) => {
      const { exitCode, stderr } = await runWith(TEMPORAL_RUNTIME_ARGS, env);
      expect(exitCode).toBe(2);
      expect(stderr).toContain(message);
    },
  );

  it('do not print an invalid key', async () => {
    const { stderr } = await runWith(TEMPORAL_RUNTIME_ARGS, { HEDDLE_ENCRYPTION_KEYS: 'mine=almost-secret' });
    expect(stderr).not.toContain('almost-secret');
  });

  it('with --json are printed as JSON on stderr', async () => {
    const { exitCode, stderr } = await runWith([
      ...TEMPORAL_RUNTIME_ARGS,
      '--address',
      '127.0.0.1:9',
      '--json',
    ]);
    expect(exitCode).toBe(2);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'RUNTIME_UNREACHABLE' } });
  });

  it('name the process that has locked the data folder', async () => {
    const project = createProject(server, WAIT_WORKFLOW);
    const owner = startHeddle(['run', 'flow.json'], { cwd: project.cwd });
    await owner.waitForText('‖ Nap');
    const { exitCode, stderr } = await project.run();
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`process ${owner.child.pid}`);
  });
});

describe('the options of Temporal', () => {
  it.each(['run', 'worker', 'dev'])('are in the help of %s', async (command) => {
    const { exitCode, stdout } = await runHeddle(['help', command]);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(/--queue/);
  });
});
