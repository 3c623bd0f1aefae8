import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { runHeddle, normalizeOutput } from '../support/heddle.ts';
import { code, condition, start, workflowFile } from '../support/workflow-file.ts';
import type { WorkflowSettings } from '../support/workflow-file.ts';
import { ADD_WORKFLOW, createFlowFolder, run } from './flow.ts';

describe('a run that completes', () => {
  it('exits with 0, with only its output on stdout and its progress on stderr', async () => {
    const { exitCode, stdout, stderr } = await run(
      createFlowFolder(ADD_WORKFLOW),
      '--input',
      '{"a": 1, "b": 2}',
    );
    expect(stdout).toBe('{\n  "result": 3,\n  "stdout": "adding"\n}\n');
    expect(normalizeOutput(stderr)).toBe(
      [
        'flow  run RUN',
        '✓ Start TIME',
        '✓ Add TIME',
        '    │ adding',
        '✓ Completed in TIME, 2 blocks  run RUN',
        '',
      ].join('\n'),
    );
    expect(exitCode).toBe(0);
  });

  it('with --json prints the run to stdout, and nothing else', async () => {
    const { exitCode, stdout, stderr } = await run(
      createFlowFolder(ADD_WORKFLOW),
      '--json',
      '--input',
      '{"a": 1, "b": 2}',
      '--select',
      'add.result',
      '--select',
      's.a',
    );
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(JSON.parse(stdout)).toEqual({
      data: {
        runId: expect.stringMatching(/^[0-9a-f-]{36}$/),
        workflowId: 'flow',
        status: 'completed',
        output: { result: 3, stdout: 'adding' },
        blockOutputs: { 'add.result': 3, 's.a': 1 },
        error: null,
        startedAt: expect.stringMatching(/Z$/),
        endedAt: expect.stringMatching(/Z$/),
        durationMs: expect.any(Number),
      },
    });
  });

  it('reads its input from a file and from standard input', async () => {
    const folder = createFlowFolder(ADD_WORKFLOW);
    writeFileSync(join(folder, 'in.json'), '{"a": "x", "b": "y"}');
    expect((await run(folder, '--input', '@in.json')).stdout).toContain('"result": "xy"');
    const pipedResult = await runHeddle(['run', 'flow.json', '--input', '-'], {
      cwd: folder,
      input: '{"a": 40, "b": 2}',
    });
    expect(pipedResult.stdout).toContain('"result": 42');
  });

  it('stores its data in ./.heddle or --data', async () => {
    const folder = createFlowFolder(ADD_WORKFLOW);
    await run(folder, '--input', '{"a": 1, "b": 2}');
    await run(folder, '--input', '{"a": 1, "b": 2}', '--data', 'elsewhere');
    for (const dataFolder of ['.heddle', 'elsewhere'])
      expect(readFileSync(join(folder, dataFolder, 'heddle.db')).length).toBeGreaterThan(0);
  });

  it('marks mocked blocks, and warns of unused mocks', async () => {
    const folder = createFlowFolder({
      blocks: { s: start(), tell: { type: 'slack', name: 'Tell', fields: { text: '{{TOKEN}}' } } },
      edges: ['s > tell'],
    });
    writeFileSync(join(folder, 'mocks.json'), '{"blocks": {"Tel": {}}, "types": {"slack": [{"ok": 1}]}}');
    const { exitCode, stdout, stderr } = await run(folder, '--mocks', 'mocks.json', '--mock', 'slak={}');
    expect(exitCode).toBe(0);
    expect(stdout).toBe('{\n  "ok": 1\n}\n');
    expect(normalizeOutput(stderr)).toContain('✓ Tell TIME  mocked');
    expect(stderr).toContain('! The mocks name the unknown block "Tel"');
    expect(stderr).toContain('! The mocks name the type "slak"');
    expect(stderr).not.toContain('TOKEN');
    expect(stderr).not.toContain('No executor is registered');
  });

  it('shows the branch of a condition and the number of iterations', async () => {
    const { stderr } = await run(
      createFlowFolder({
        blocks: {
          s: start(),
          big: { ...condition('big', '<start.n> > 1', ''), name: 'Big?' },
          each: { type: 'loop', name: 'Each', data: { loopType: 'for', count: 3 } },
          work: code('return <loop.index>', { parentId: 'each' }),
        },
        edges: ['s > big', 'big:condition-big-0 > each', 'each:loop-start-source > work'],
      }),
      '--input',
      '{"n": 2}',
    );
    expect(normalizeOutput(stderr)).toContain(
      '✓ Big? TIME  → Each\n· Each 1/3\n· Each 2/3\n· Each 3/3\n✓ Each TIME  3 iterations\n',
    );
  });

  it('has no colours unless forced', async () => {
    const folder = createFlowFolder(ADD_WORKFLOW);
    const inputArgs = ['--input', '{"a": 1, "b": 2}'];
    expect((await run(folder, ...inputArgs)).stderr).not.toContain('\u001B');
    const colouredResult = await runHeddle(['run', 'flow.json', ...inputArgs], {
      cwd: folder,
      env: { FORCE_COLOR: '1' },
    });
    expect(colouredResult.stderr).toContain('\u001B[32m✓');
    expect(colouredResult.stdout).not.toContain('\u001B');
  });
});

describe('environment values', () => {
  const KEY_WORKFLOW: WorkflowSettings = {
    blocks: {
      s: start(),
      use: code('console.log("key", {{KEY}});\nreturn `<${{{KEY}}}>`;', { name: 'Use' }),
    },
    edges: ['s > use'],
  };

  it('come from options, files and the shell, and are redacted in all output', async () => {
    const folder = createFlowFolder(KEY_WORKFLOW);
    writeFileSync(join(folder, '.env'), 'KEY="from-the-file"\n');
    const results = await Promise.all([
      run(folder, '--env', 'KEY=from-the-option', '--data', 'a'),
      run(folder, '--env-file', '.env', '--data', 'b'),
      runHeddle(['run', 'flow.json', '--env', 'KEY', '--data', 'c'], {
        cwd: folder,
        env: { KEY: 'from-the-shell' },
      }),
    ]);
    for (const { exitCode, stdout, stderr } of results) {
      expect(exitCode).toBe(0);
      expect(stdout + stderr).not.toContain('from-the');
      expect(stdout).not.toContain('{{KEY}}>');
    }
  });

  it('that are missing are reported before the run, with the blocks that use them', async () => {
    const { stderr } = await run(createFlowFolder(KEY_WORKFLOW));
    expect(stderr).toContain(
      '! {{KEY}} has no value, so "Use" will get the placeholder itself. Set it: --env KEY=VALUE',
    );
  });
});

describe('a run that fails', () => {
  it('exits with 1 and shows the block, the error, and the source lines around it', async () => {
    const folder = createFlowFolder({
      blocks: {
        s: start(),
        parse: code('const order = <start.order>;\nconst items = order.items;\nreturn items.length;\n', {
          name: 'Parse Order',
        }),
      },
      edges: ['s > parse'],
    });
    const { exitCode, stdout, stderr } = await run(folder, '--input', '{"order": {}}');
    expect({ exitCode, stdout }).toEqual({ exitCode: 1, stdout: '' });
    expect(normalizeOutput(stderr)).toBe(
      [
        'flow  run RUN',
        '✓ Start TIME',
        '✗ Parse Order TIME  failed',
        '✗ Failed after TIME, 2 blocks  run RUN',
        '',
        '  block  Parse Order (function)',
        '  code   BLOCK_FAILED',
        "  error  TypeError: Line 3: `return items.length;` - Cannot read properties of undefined (reading 'length')",
        '',
        '    1 │ const order = <start.order>;',
        '    2 │ const items = order.items;',
        '  ▸ 3 │ return items.length;',
        '    4 │ ',
        '',
        '  → heddle runs show RUN  shows what each block did',
        "  → heddle runs rerun RUN --from 'Parse Order' flow.json  reruns from this block after a change",
        '',
      ].join('\n'),
    );
  });

  it('shows the iteration and container of the failure', async () => {
    const folder = createFlowFolder({
      blocks: {
        s: start(),
        each: { type: 'loop', name: 'Each', data: { loopType: 'for', count: 3 } },
        work: code('if (<loop.index> === 1) throw new Error("second");', { name: 'Work', parentId: 'each' }),
      },
      edges: ['s > each', 'each:loop-start-source > work'],
    });
    const { exitCode, stderr } = await run(folder);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('Work (function)  in Each 2');
    expect(stderr).toContain('--from Each flow.json');
  });

  it('at a block without an executor suggests a mock', async () => {
    const folder = createFlowFolder({
      blocks: { s: start(), tell: { type: 'pager', name: 'Tell' } },
      edges: ['s > tell'],
    });
    const { exitCode, stderr } = await run(folder);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('! No executor is registered for the type "pager"');
    expect(stderr).toContain(`--mock pager='{"ok": true}'`);
  });

  it('after its time limit exits with 1 and shows the reason', async () => {
    const folder = createFlowFolder({
      blocks: {
        s: start(),
        nap: { type: 'wait', name: 'Nap', fields: { timeValue: '1', timeUnit: 'hours' } },
      },
      edges: ['s > nap'],
    });
    const { exitCode, stderr } = await run(folder, '--timeout', '0.2');
    expect(exitCode).toBe(1);
    expect(stderr).toContain('RUN_TIMEOUT');
    expect(stderr).toContain('--timeout SECONDS');
  });

  it('with --json prints the error in the run', async () => {
    const folder = createFlowFolder({
      blocks: { s: start(), f: code('throw new Error("no")', { name: 'F' }) },
      edges: ['s > f'],
    });
    const { exitCode, stdout, stderr } = await run(folder, '--json');
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: '' });
    expect(JSON.parse(stdout)).toMatchObject({
      data: { status: 'failed', error: { code: 'BLOCK_FAILED', details: { blockName: 'F', line: 1 } } },
    });
  });
});

describe('a workflow from standard input', () => {
  const text = JSON.stringify(workflowFile(ADD_WORKFLOW));

  it('can be run, checked and planned', async () => {
    const cwd = createDataFolder();
    const result = await runHeddle(['run', '-', '--input', '{"a": 1, "b": 2}'], { cwd, input: text });
    expect({ exitCode: result.exitCode, output: JSON.parse(result.stdout) as unknown }).toMatchObject({
      exitCode: 0,
      output: { result: 3 },
    });
    expect((await runHeddle(['check', '-'], { cwd, input: text })).stdout).toMatch(/^✓ stdin /);
    expect((await runHeddle(['plan', '-'], { cwd, input: text })).exitCode).toBe(0);
    expect((await runHeddle(['check', '-'], { cwd, input: '{' })).stdout).toContain(
      'stdin:1:2  JSON_INVALID',
    );
  });

  it('cannot also read its input from standard input', async () => {
    const { exitCode, stderr } = await runHeddle(['run', '-', '--input', '-'], {
      cwd: createDataFolder(),
      input: text,
    });
    expect(exitCode).toBe(2);
    expect(stderr).toContain('Standard input cannot be both');
  });
});

describe('a large result of code', () => {
  const LARGE_RESULT_WORKFLOW = {
    blocks: {
      s: start(),
      big: code('return "x".repeat(5 * 2 ** 20)'),
      next: code('return <big.result>.length'),
    },
    edges: ['s > big', 'big > next'],
  };

  it('fails with a hint about the option that allows it', async () => {
    const cwd = createFlowFolder(LARGE_RESULT_WORKFLOW);
    const { exitCode, stderr } = await run(cwd);
    expect(exitCode).toBe(1);
    expect(stderr).toContain('--result-limit MIB');
  });

  it.each([6, 16])('can be read by the next block with --result-limit %i', async (limit) => {
    const cwd = createFlowFolder(LARGE_RESULT_WORKFLOW);
    const { exitCode, stdout } = await run(cwd, '--result-limit', String(limit));
    expect({ exitCode, output: JSON.parse(stdout) as unknown }).toMatchObject({
      exitCode: 0,
      output: { result: 5 * 2 ** 20 },
    });
  });
});

describe('heddle run --dotenv', () => {
  it('rejects a file that does not exist', async () => {
    const cwd = createFlowFolder(ADD_WORKFLOW);
    const { exitCode, stderr } = await run(cwd, '--dotenv', 'none.env');
    expect({ exitCode, stderr }).toEqual({
      exitCode: 2,
      stderr: expect.stringContaining('There is no file none.env.'),
    });
  });
});

describe('heddle run --runtime temporal', () => {
  it('suggests how to start a server if there is none', async () => {
    const cwd = createFlowFolder(ADD_WORKFLOW);
    const { exitCode, stderr } = await run(cwd, '--runtime', 'temporal', '--address', '127.0.0.1:9');
    expect(exitCode).toBe(2);
    expect(stderr).toContain('→ Start a server with heddle dev');
  });
});
