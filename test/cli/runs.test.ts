import { cpSync, mkdtempSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createEngine } from '@heddle/engine';
import { afterAll, describe, expect, it } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { runHeddle, normalizeOutput } from '../support/heddle.ts';
import type { CommandResult } from '../support/heddle.ts';
import { code, start, workflowFile } from '../support/workflow-file.ts';
import type { BlockSettings, WorkflowSettings } from '../support/workflow-file.ts';

const QUESTION: BlockSettings = {
  type: 'human_in_the_loop',
  name: 'Approve',
  fields: {
    inputFormat: [
      { id: 'a', name: 'approved', type: 'boolean', required: true, description: 'Is it approved?' },
      { id: 'b', name: 'note', type: 'string' },
    ],
    builderData: [{ id: 'c', name: 'what', type: 'string', value: '<start.what>' }],
  },
};

const START_BLOCK = start({
  fields: { inputFormat: [{ id: 'w', name: 'what', type: 'string', value: 'a table' }] },
});

const APPROVAL_ARGS = ['--input', '{"approved": true}'];
const ASK_WORKFLOW: WorkflowSettings = {
  blocks: {
    s: START_BLOCK,
    ask: QUESTION,
    done: code('return [<approve.approved>, <approve.note>, <start.what>]', { name: 'Done' }),
  },
  edges: ['s > ask', 'ask > done'],
};

interface FolderWithRun {
  cwd: string;
  runId: string;
  result: CommandResult;
}

/** Runs the workflow in a new folder, as `flow.json`. */
function runInNewFolder(workflow: WorkflowSettings, ...args: string[]): Promise<FolderWithRun> {
  return runInFolder(createDataFolder(), workflow, args);
}

async function runInFolder(
  cwd: string,
  workflow: WorkflowSettings,
  args: readonly string[] = [],
): Promise<FolderWithRun> {
  writeFileSync(join(cwd, 'flow.json'), JSON.stringify(workflowFile(workflow)));
  const result = await runHeddle(['run', 'flow.json', ...args], { cwd });
  const listResult = await runHeddle(['runs', 'list', '--json', '--limit', '1'], { cwd });
  const { data } = JSON.parse(listResult.stdout) as { data: { runId: string }[] };
  return { cwd, runId: data[0]!.runId, result };
}

const folder = createDataFolder(afterAll);
const originals = new Map<WorkflowSettings, Promise<FolderWithRun>>();

/** Copies a folder with a run of the workflow. The workflow runs once for all tests, because runs take long. */
async function copyFolderWithRun(workflow: WorkflowSettings): Promise<FolderWithRun> {
  const original = originals.get(workflow) ?? runInFolder(mkdtempSync(join(folder, 'run-')), workflow);
  originals.set(workflow, original);
  const { cwd: source, ...run } = await original;
  const cwd = createDataFolder();
  cpSync(source, cwd, { recursive: true });
  return { cwd, ...run };
}

describe('a run that waits for a person', () => {
  it('exits with 3 and shows the pause point and the command that answers it', async () => {
    const { result, runId } = await runInNewFolder(ASK_WORKFLOW, '--input', '{"what": "a chair"}');
    expect(result).toMatchObject({ exitCode: 3, stdout: '' });
    expect(normalizeOutput(result.stderr)).toBe(
      [
        'flow  run RUN',
        '✓ Start TIME',
        '‖ Approve              waits for a person',
        '‖ Paused: waits for a person  run RUN',
        '',
        '  Approve waits for an answer',
        '    what  a chair',
        '    ? approved  boolean, required: Is it approved?',
        '    ? note      string',
        `  → heddle runs resume RUN --input '{"approved":true,"note":""}'`,
        '',
      ].join('\n'),
    );
    expect(result.stderr).toContain(`heddle runs resume ${runId.slice(-8)} `);
  });

  it('continues in another process, with its earlier outputs', async () => {
    const { cwd, runId } = await runInNewFolder(ASK_WORKFLOW, '--input', '{"what": "a chair"}');
    const { exitCode, stdout, stderr } = await runHeddle(
      ['runs', 'resume', runId.slice(-8), ...APPROVAL_ARGS],
      { cwd },
    );
    expect(JSON.parse(stdout)).toEqual({ result: [true, null, 'a chair'], stdout: '' });
    expect(normalizeOutput(stderr)).toMatch(
      /^flow {2}run RUN\n✓ Approve TIME\n✓ Done TIME\n✓ Completed in TIME {2}run RUN\n$/,
    );
    expect(exitCode).toBe(0);
  });

  it('with --json prints the paused run, and the resumed run', async () => {
    const { cwd, runId, result } = await runInNewFolder(ASK_WORKFLOW, '--json');
    expect(result.exitCode).toBe(3);
    expect(result.stderr).toBe('');
    expect(JSON.parse(result.stdout)).toMatchObject({ data: { runId, status: 'paused', endedAt: null } });
    const resumeResult = await runHeddle(
      ['runs', 'resume', runId, '--input', '{"approved": false}', '--json', '--select', 'approve.approved'],
      { cwd },
    );
    expect(resumeResult).toMatchObject({ exitCode: 0, stderr: '' });
    expect(JSON.parse(resumeResult.stdout)).toMatchObject({
      data: { runId, status: 'completed', blockOutputs: { 'approve.approved': false } },
    });
  });

  it('rejects an invalid answer, and still waits for a valid one', async () => {
    const { cwd, runId } = await copyFolderWithRun(ASK_WORKFLOW);
    const invalidResult = await runHeddle(['runs', 'resume', runId, '--input', '{"approved": "perhaps"}'], {
      cwd,
    });
    expect(invalidResult.exitCode).toBe(2);
    expect(invalidResult.stderr).toContain('"approved" must be true or false');
    expect((await runHeddle(['runs', 'resume', runId, ...APPROVAL_ARGS], { cwd })).exitCode).toBe(0);
    const resultAfterEnd = await runHeddle(['runs', 'resume', runId, ...APPROVAL_ARGS], { cwd });
    expect(resultAfterEnd).toMatchObject({ exitCode: 2, stdout: '' });
    expect(resultAfterEnd.stderr).toContain('has ended: it is completed');
  });

  it('at several pause points asks which one to answer, and accepts any order', async () => {
    const { cwd, runId, result } = await runInNewFolder({
      blocks: {
        s: START_BLOCK,
        one: { ...QUESTION, name: 'One' },
        two: { ...QUESTION, name: 'Two' },
        join: code('return [<one.note>, <two.note>]', { name: 'Join' }),
      },
      edges: ['s > one', 's > two', 'one > join', 'two > join'],
    });
    const tokens = [...result.stderr.matchAll(/--point (\S+)/g)].map(([, token]) => token!);
    expect(tokens).toHaveLength(2);
    const ambiguousResult = await runHeddle(['runs', 'resume', runId, ...APPROVAL_ARGS], { cwd });
    expect(ambiguousResult.exitCode).toBe(2);
    expect(ambiguousResult.stderr).toContain('waits at 2 pause points');
    const secondResult = await runHeddle(
      ['runs', 'resume', runId, '--point', tokens[1]!, '--input', '{"approved": true, "note": "2"}'],
      { cwd },
    );
    expect(secondResult.exitCode).toBe(3);
    const firstResult = await runHeddle(
      ['runs', 'resume', runId, '--input', '{"approved": true, "note": "1"}'],
      {
        cwd,
      },
    );
    expect(firstResult.exitCode).toBe(0);
    expect(JSON.parse(firstResult.stdout)).toMatchObject({ result: ['1', '2'] });
  });

  it('can be cancelled while it waits', async () => {
    const { cwd, runId } = await copyFolderWithRun(ASK_WORKFLOW);
    const cancelResult = await runHeddle(['runs', 'cancel', runId, '--reason', 'changed our minds'], { cwd });
    expect(cancelResult).toMatchObject({ exitCode: 0, stdout: '' });
    expect(normalizeOutput(cancelResult.stderr)).toBe('○ Cancelled run RUN.\n');
    const secondCancelResult = await runHeddle(['runs', 'cancel', runId], { cwd });
    expect(secondCancelResult.exitCode).toBe(2);
    expect(secondCancelResult.stderr).toContain('it is cancelled');
    expect((await runHeddle(['runs', 'resume', runId, ...APPROVAL_ARGS], { cwd })).exitCode).toBe(2);
  });

  it('needs its environment values again, because they are never stored', async () => {
    const { cwd, runId, result } = await runInNewFolder(
      {
        blocks: { s: START_BLOCK, ask: QUESTION, use: code('return {{KEY}}.length', { name: 'Use' }) },
        edges: ['s > ask', 'ask > use'],
      },
      '--env',
      'KEY=twelve-chars',
    );
    expect(result.stderr).toContain('--env KEY\n');
    const resultWithoutKey = await runHeddle(['runs', 'resume', runId, ...APPROVAL_ARGS], { cwd });
    expect(resultWithoutKey.exitCode).toBe(2);
    expect(resultWithoutKey.stderr).toContain('The run needs a value for {{KEY}}');
    const resultWithKey = await runHeddle(
      ['runs', 'resume', runId, ...APPROVAL_ARGS, '--env', 'KEY=twelve-chars'],
      { cwd },
    );
    expect(resultWithKey.exitCode).toBe(0);
    expect(JSON.parse(resultWithKey.stdout)).toMatchObject({ result: 12 });
  });
});

describe('heddle runs list', () => {
  it('reports an empty list', async () => {
    const { exitCode, stdout, stderr } = await runHeddle(['runs', 'list'], { cwd: createDataFolder() });
    expect({ exitCode, stdout, stderr }).toEqual({
      exitCode: 0,
      stdout: '',
      stderr: 'No runs in ./.heddle.\n',
    });
  });

  it('lists runs with their status, newest first, and filters them', async () => {
    const { cwd } = await copyFolderWithRun(ASK_WORKFLOW);
    writeFileSync(join(cwd, 'flow.json'), JSON.stringify(workflowFile({ blocks: { s: start() } })));
    await runHeddle(['run', 'flow.json'], { cwd });
    const { stdout } = await runHeddle(['runs', 'list'], { cwd });
    const rows = stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(/ {2,}/));
    expect(rows.map((row) => row.slice(1, 3))).toEqual([
      ['WORKFLOW', 'STATUS'],
      ['flow', 'completed'],
      ['flow', 'paused: waits for a person'],
    ]);
    const listResult = await runHeddle(['runs', 'list', '--status', 'paused', '--json'], { cwd });
    const { data, nextCursor } = JSON.parse(listResult.stdout) as {
      data: { status: string }[];
      nextCursor: null;
    };
    expect(data.map(({ status }) => status)).toEqual(['paused']);
    expect(nextCursor).toBeNull();
  });
});

describe('heddle runs show', () => {
  it('shows a run with its blocks and its output', async () => {
    const { cwd, runId } = await runInNewFolder({
      blocks: {
        s: start(),
        each: { type: 'loop', name: 'Each', data: { loopType: 'for', count: 2 } },
        work: code('return <loop.index>', { name: 'Work', parentId: 'each' }),
        end: code('return "end"', { name: 'End' }),
      },
      edges: ['s > each', 'each:loop-start-source > work', 'each > end'],
    });
    const { exitCode, stdout } = await runHeddle(['runs', 'show', runId.slice(0, 6)], { cwd });
    expect(exitCode).toBe(0);
    expect(stdout).toContain(`run      ${runId}\nstatus   completed\n`);
    const blockLines = stdout.split('\n').filter((line) => line.includes('✓'));
    expect(blockLines.map((line) => line.split(/ {2,}/).slice(1, 3).join(' '))).toEqual([
      '✓ Start',
      '✓ Each 1 › Work',
      '✓ Each 2 › Work',
      '✓ Each',
      '✓ End',
    ]);
    expect(stdout).toContain('output\n{\n  "result": "end",');
    const { data } = JSON.parse((await runHeddle(['runs', 'show', runId, '--json'], { cwd })).stdout) as {
      data: { logs: { blockName: string }[] };
    };
    expect(data.logs.map(({ blockName }) => blockName)).toEqual(['Start', 'Work', 'Work', 'Each', 'End']);
  });

  it('reports an unknown run and an ambiguous prefix', async () => {
    const { cwd } = await copyFolderWithRun(ASK_WORKFLOW);
    await runHeddle(['run', 'flow.json'], { cwd });
    const unknownResult = await runHeddle(['runs', 'show', 'zzz'], { cwd });
    expect(unknownResult).toMatchObject({ exitCode: 2, stdout: '' });
    expect(unknownResult.stderr).toContain('There is no run zzz in ./.heddle.');
    const ambiguousResult = await runHeddle(['runs', 'show', ''], { cwd });
    expect(ambiguousResult.exitCode).toBe(2);
    expect(ambiguousResult.stderr).toContain('matches 2 runs');
  });

  it('finds a run by the beginning of its id, or by the id that its caller chose, unless several runs match', async () => {
    const cwd = createDataFolder();
    const engine = await createEngine({ data: join(cwd, '.heddle') });
    const flow = { workflow: workflowFile({ blocks: { s: start() }, edges: [] }) };
    const { runId } = await engine.execute(flow, {}, { runId: 'first-of-all', callerId: 'order-1' });
    await engine.execute(flow, {}, { callerId: 'order-2' });
    await engine.execute(flow, {}, { callerId: 'order-2' });
    await engine.close();
    const result = await runHeddle(['runs', 'show', 'order-1'], { cwd });
    expect(result.exitCode).toBe(0);
    expect((await runHeddle(['runs', 'show', 'first-of'], { cwd })).stdout).toBe(result.stdout);
    expect(result.stdout).toMatch(new RegExp(`run +${runId}\\nX-Run-Id +order-1\\n`));
    const ambiguousResult = await runHeddle(['runs', 'show', 'order-2'], { cwd });
    expect([ambiguousResult.exitCode, ambiguousResult.stderr]).toEqual([
      2,
      expect.stringContaining('order-2 matches 2 runs'),
    ]);
  });
});

describe('heddle runs tail', () => {
  it('of an ended run shows all its blocks, and exits with the code of the run', async () => {
    const { cwd, runId } = await runInNewFolder({
      blocks: { s: start(), bad: code('throw new Error("no")', { name: 'Bad' }) },
      edges: ['s > bad'],
    });
    const { exitCode, stdout, stderr } = await runHeddle(['runs', 'tail', runId], { cwd });
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(normalizeOutput(stderr)).toContain(
      'flow  run RUN\n✓ Start TIME\n✗ Bad TIME  failed\n✗ Failed after TIME',
    );
  });

  it('of a paused run ends with its pause point', async () => {
    const { cwd, runId } = await copyFolderWithRun(ASK_WORKFLOW);
    const { exitCode, stderr } = await runHeddle(['runs', 'tail', runId], { cwd });
    expect(exitCode).toBe(3);
    expect(stderr).toContain('→ heddle runs resume');
  });
});

describe('heddle runs rerun', () => {
  const BROKEN_WORKFLOW: WorkflowSettings = {
    blocks: {
      s: start(),
      first: code('return Math.random()', { name: 'First' }),
      second: code('return <first.result>.nothing.here', { name: 'Second' }),
    },
    edges: ['s > first', 'first > second'],
  };

  it('continues in a changed workflow with the outputs of the earlier blocks', async () => {
    const { cwd, runId, result } = await copyFolderWithRun(BROKEN_WORKFLOW);
    expect(result.exitCode).toBe(1);
    const fixedWorkflow = {
      ...BROKEN_WORKFLOW,
      blocks: { ...BROKEN_WORKFLOW.blocks, second: code('return <first.result>', { name: 'Second' }) },
    };
    writeFileSync(join(cwd, 'flow.json'), JSON.stringify(workflowFile(fixedWorkflow)));
    const showResult = await runHeddle(['runs', 'show', runId, '--json'], { cwd });
    const { data } = JSON.parse(showResult.stdout) as {
      data: { logs: { blockName: string; output: { result: number } }[] };
    };
    const firstOutput = data.logs.find(({ blockName }) => blockName === 'First')!.output.result;
    const { exitCode, stdout, stderr } = await runHeddle(
      ['runs', 'rerun', runId, '--from', 'second', 'flow.json'],
      {
        cwd,
      },
    );
    expect(JSON.parse(stdout)).toMatchObject({ result: firstOutput });
    expect(stderr).not.toContain('✓ First');
    expect(exitCode).toBe(0);
  });

  it('fails again in the unchanged workflow', async () => {
    const { cwd, runId } = await copyFolderWithRun(BROKEN_WORKFLOW);
    expect((await runHeddle(['runs', 'rerun', runId, '--from', 'Second'], { cwd })).exitCode).toBe(1);
  });

  it('starts in an iteration that has run', async () => {
    const { cwd, runId } = await copyFolderWithRun({
      blocks: {
        s: start(),
        each: { type: 'loop', name: 'Each', data: { loopType: 'for', count: 3 } },
        work: code('return <loop.index>', { name: 'Work', parentId: 'each' }),
        end: code('return <each.results>.length', { name: 'End' }),
      },
      edges: ['s > each', 'each:loop-start-source > work', 'each > end'],
    });
    const rerun = (iteration: string) =>
      runHeddle(['runs', 'rerun', runId, '--from', 'Work', '--iteration', iteration], { cwd });
    const { exitCode, stdout, stderr } = await rerun('2');
    expect([exitCode, JSON.parse(stdout)]).toMatchObject([0, { result: 3 }]);
    // One execution of Work, its loop, and End.
    expect(stderr).toMatch(/Each 3\/3[^]*, 3 blocks/);
    const unknownResult = await rerun('3');
    expect([unknownResult.exitCode, unknownResult.stderr]).toEqual([
      2,
      expect.stringContaining('iteration 3 of "Each" did not'),
    ]);
    const invalidResult = await rerun('1,x');
    expect([invalidResult.exitCode, invalidResult.stderr]).toEqual([
      2,
      expect.stringContaining('whole numbers from 0'),
    ]);
  });

  it('from an unknown block exits with 2', async () => {
    const { cwd, runId } = await copyFolderWithRun(BROKEN_WORKFLOW);
    const { exitCode, stderr } = await runHeddle(['runs', 'rerun', runId, '--from', 'Third'], { cwd });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('has no block "Third"');
  });
});

describe('heddle runs show of past runs', () => {
  it('shows the reason for a cancellation', async () => {
    const { cwd, runId } = await copyFolderWithRun(ASK_WORKFLOW);
    await runHeddle(['runs', 'cancel', runId, '--reason', 'changed our minds'], { cwd });
    const { stdout } = await runHeddle(['runs', 'show', runId], { cwd });
    expect(stdout).toContain('reason   changed our minds\n');
    const jsonResult = await runHeddle(['runs', 'show', runId, '--json'], { cwd });
    expect(JSON.parse(jsonResult.stdout)).toMatchObject({ data: { cancelReason: 'changed our minds' } });
    expect((await runHeddle(['runs', 'tail', runId], { cwd })).stderr).toContain(': changed our minds');
  });

  it('marks mocked blocks and shows their inputs', async () => {
    const call: BlockSettings = {
      type: 'api',
      name: 'Call',
      fields: { url: 'https://a.test/<start.what>', method: 'GET' },
    };
    const { cwd, runId } = await runInNewFolder(
      { blocks: { s: START_BLOCK, call }, edges: ['s > call'] },
      '--mock',
      'api={"data": 1}',
    );
    const jsonResult = await runHeddle(['runs', 'show', runId, '--json'], { cwd });
    const { data } = JSON.parse(jsonResult.stdout) as { data: { logs: { blockName: string }[] } };
    expect(data.logs.map(({ blockName, ...log }) => [blockName, log])).toMatchObject([
      ['Start', { mocked: false }],
      ['Call', { mocked: true, input: { url: expect.stringContaining('a.test/a'), method: 'GET' } }],
    ]);
    const { stdout } = await runHeddle(['runs', 'show', runId], { cwd });
    expect(stdout).toMatch(/Call .* mocked \{.*a\.test.*\} → \{"data":1\}/);
    expect((await runHeddle(['runs', 'tail', runId], { cwd })).stderr).toMatch(/✓ Call .* mocked/);
  });

  it('rejects a missing folder', async () => {
    const cwd = createDataFolder();
    for (const command of [['list'], ['show', 'x'], ['tail', 'x']]) {
      const { exitCode, stdout, stderr } = await runHeddle(['runs', ...command, '--data', 'nope'], { cwd });
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
      expect(stderr).toContain('There is no data folder nope.');
    }
  });
});
