import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { createDataFolder } from '../../../test/support/data-folder.ts';
import { createRecordingIo } from '../../../test/support/io.ts';
import { code, condition, start, workflowFile } from '../../../test/support/workflow-file.ts';
import type { WorkflowSettings } from '../../../test/support/workflow-file.ts';
import packageJson from '../package.json' with { type: 'json' };
import { main } from './main.ts';

interface CommandResult {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** A stream that fails like a file on a full disk. */
class FullDiskStream extends Writable {
  override _write(_chunk: unknown, _encoding: string, done: (error: Error) => void): void {
    done(Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' }));
  }
}

async function heddle(...argv: string[]): Promise<CommandResult> {
  const io = createRecordingIo();
  const exitCode = await main(argv, io);
  return { exitCode, stdout: io.stdout.text, stderr: io.stderr.text };
}

function writeWorkflow(workflow: WorkflowSettings | string): string {
  const file = join(createDataFolder(), 'example.json');
  const text = typeof workflow === 'string' ? workflow : JSON.stringify(workflowFile(workflow), null, 2);
  writeFileSync(file, text);
  return file;
}

const BRANCHING_WORKFLOW: WorkflowSettings = {
  blocks: {
    s: start(),
    big: { ...condition('big', '<start.n> > 10', ''), name: 'Big?' },
    yes: code('return {{KEY}} + <start.n>', { name: 'Yes "really"' }),
    each: { type: 'loop', name: 'Each', data: { loopType: 'forEach', collection: '<start.items>' } },
    work: code('return <loop.currentItem>', { name: 'Work', parentId: 'each' }),
  },
  edges: [
    's > big',
    'big:condition-big-0 > yes',
    'big:condition-big-1 > each',
    'each:loop-start-source > work',
  ],
};

describe('the CLI', () => {
  it.each(['--version', '-v'])('prints its version: %s', async (flag) => {
    expect(await heddle(flag)).toEqual({ exitCode: 0, stdout: `${packageJson.version}\n`, stderr: '' });
  });

  it.each([['help'], ['--help'], ['-h']])('shows its commands and its exit codes: %s', async (...argv) => {
    const { exitCode, stdout, stderr } = await heddle(...argv);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    for (const word of ['check', 'plan', 'run', 'runs', '3 paused']) expect(stdout).toContain(word);
  });

  it('shows the help of a command with help and with --help', async () => {
    const help = await heddle('help', 'run');
    expect(help).toEqual(await heddle('run', '--help'));
    expect(help.exitCode).toBe(0);
    for (const option of [
      '--input',
      '--dotenv',
      '--mocks',
      '--workflows',
      '--data',
      '--compat',
      '--select',
      '--timeout',
    ]) {
      expect(help.stdout).toContain(option);
    }
    expect((await heddle('runs', 'resume', '--help')).stdout).toContain('--point');
  });

  it('shows the choices and the default of an option, under the heading of its group', async () => {
    const { stdout } = await heddle('help', 'run');
    const help = stdout.replaceAll(/\s+/g, ' ');
    for (const text of [
      '(choices: basic, standard, strict)',
      '(choices: local, temporal; default: local)',
      '(default: ./.heddle)',
      'Models and cost: --default-model',
    ])
      expect(help).toContain(text);
  });

  it('without a command prints its help to stderr and exits with 2', async () => {
    const { exitCode, stdout, stderr } = await heddle();
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain('Usage: heddle');
  });

  it.each([
    [['chekc'], "unknown command 'chekc'", 'Did you mean check?', 'usage: heddle '],
    [['run', 'f.json', '--jsno'], "unknown option '--jsno'", 'Did you mean --json?', 'usage: heddle run '],
    [['check'], "missing required argument 'file'", '', 'usage: heddle check '],
    [['plan', 'a', 'b'], 'too many arguments', '', 'usage: heddle plan '],
    [['run', 'f.json', '--timeout', '0'], 'number of seconds above 0', '', 'usage: heddle run '],
    [['runs', 'list', '--status', 'done'], '"done" is not a status', '', 'usage: heddle runs list '],
    [['runs', 'rerun', 'x'], "required option '--from <block>'", '', 'usage: heddle runs rerun '],
  ])('reports wrong usage and shows the usage of the command: %j', async (argv, ...messages) => {
    const { exitCode, stdout, stderr } = await heddle(...argv);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    for (const text of messages) expect(stderr).toContain(text);
  });

  it.each(['0', '0.5', 'soon', ''])('rejects heddle serve --keep-public-runs %j', async (days) => {
    const { exitCode, stdout, stderr } = await heddle('serve', '--keep-public-runs', days);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain("option '--keep-public-runs <days>' argument");
    expect(stderr).toContain('Use a number of days from 1 to 36500.');
  });

  it('suggests heddle run if the command is the name of a file', async () => {
    expect((await heddle('order.json')).stderr).toContain('To run the file: heddle run order.json');
  });
});

describe('heddle check', () => {
  it('prints one line for a workflow without problems', async () => {
    const file = writeWorkflow({ blocks: { s: start(), f: code('return 1') }, edges: ['s > f'] });
    expect(await heddle('check', file)).toEqual({
      exitCode: 0,
      stdout: `✓ ${file}  example, 2 blocks\n`,
      stderr: '',
    });
  });

  it('lists all problems with their block, position and hint', async () => {
    const file = writeWorkflow({
      blocks: {
        s: start(),
        tally: code('return 1', { name: 'Tally' }),
        f: code('return <taly.result> + <strat.n>', { name: 'Read' }),
      },
      edges: ['s > tally', 'tally > f', 'f > nowhere'],
    });
    const { exitCode, stdout } = await heddle('check', file);
    expect(exitCode).toBe(2);
    expect(stdout).toMatch(/error {4}.*<taly\.result>.* {2}in Read › code\n {9}→ .*<tally/);
    expect(stdout).toContain('<strat.n>');
    expect(stdout).toContain('nowhere');
    expect(stdout).toMatch(new RegExp(String.raw`${file}:\d+:\d+ {2}REFERENCE_UNKNOWN_BLOCK`));
    expect(stdout).toContain(`✗ ${file}  3 errors`);
  });

  it('warns of misspelled fields, wrong values and invalid code, with line numbers', async () => {
    const file = writeWorkflow({
      blocks: {
        s: start(),
        work: { name: 'Work', fields: { code: 'const a = 1\nreturn [a', langauge: 'python' } },
        call: { type: 'api', name: 'Call', fields: { url: 'https://example.com', method: 'FTECH' } },
        pause: { type: 'wiat', name: 'Pause' },
      },
      edges: ['s > work', 'work > call', 'call > pause'],
    });
    const { exitCode, stdout } = await heddle('check', file);
    expect(exitCode).toBe(0);
    expect(stdout).toMatch(
      /warning .*not valid JavaScript: Unexpected token at line 2 in "return \[a".* {2}in Work › code/,
    );
    expect(stdout).toMatch(/in Work › langauge\n.*Did you mean "language"\?/);
    expect(stdout).toMatch(/"method" of "Call" is "FTECH"; allowed: one of GET, POST/);
    expect(stdout).toMatch(/in Pause › type\n.*Did you mean "wait"\?/);
    for (const code of ['SYNTAX_INVALID', 'FIELD_UNKNOWN', 'FIELD_VALUE', 'BLOCK_TYPE_UNKNOWN'])
      expect(stdout).toMatch(new RegExp(String.raw`${file}:\d+:\d+ {2}${code}`));
    expect(stdout).toContain('4 warnings');
  });

  it('prints only diagnostics as JSON, each with its file and line', async () => {
    const file = writeWorkflow({ blocks: { s: start(), f: code('return <strat.n>') }, edges: ['s > f'] });
    const { exitCode, stdout, stderr } = await heddle('check', '--json', file);
    expect({ exitCode, stderr }).toEqual({ exitCode: 2, stderr: '' });
    const output = JSON.parse(stdout) as { diagnostics: { code: string; file: string; line: number }[] };
    expect(Object.keys(output)).toEqual(['diagnostics']);
    expect(output.diagnostics).toMatchObject([
      { code: 'REFERENCE_UNKNOWN_BLOCK', severity: 'error', blockId: 'f', file, line: expect.any(Number) },
    ]);
  });

  it('turns errors that older engines accept into warnings, with --compat', async () => {
    const file = writeWorkflow({ blocks: { s: start(), f: code('return <strat.n>') }, edges: ['s > f'] });
    const { exitCode, stdout } = await heddle('check', '--compat', file);
    expect(exitCode).toBe(0);
    expect(stdout).toContain('1 warning');
  });

  it('reports the line of invalid JSON', async () => {
    const file = writeWorkflow('{\n  "blocks": {,}\n}');
    const { exitCode, stdout } = await heddle('check', file);
    expect(exitCode).toBe(2);
    expect(stdout).toContain(`${file}:2:14  JSON_INVALID`);
  });

  it('checks several files, and exits with 2 if one of them is invalid', async () => {
    const validFile = writeWorkflow({ blocks: { s: start() } });
    const invalidFile = writeWorkflow('{}');
    const { exitCode, stdout } = await heddle('check', validFile, invalidFile);
    expect(exitCode).toBe(2);
    expect(stdout).toContain(`✓ ${validFile}`);
    expect(stdout).toContain(`✗ ${invalidFile}  1 error`);
  });

  it('reports a missing file', async () => {
    const { exitCode, stdout, stderr } = await heddle('check', 'nowhere.json');
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain('There is no file nowhere.json.');
  });
});

describe('heddle plan', () => {
  it('shows the start, the blocks in order with containers as a tree, and the environment values', async () => {
    const { exitCode, stdout } = await heddle('plan', writeWorkflow(BRANCHING_WORKFLOW));
    expect(exitCode).toBe(0);
    const lines = stdout.split('\n');
    expect(lines[0]).toBe('example  example');
    expect(stdout).toContain('needs  {{KEY}} in Yes "really"');
    expect(stdout).toMatch(/hash {3}sha256:[0-9a-f]{64}/);
    const table = lines
      .slice(lines.findIndex((line) => line.includes('class')) + 1)
      .filter((line) => line !== '');
    expect(table.map((line) => line.trim().replaceAll(/ {2,}/g, ' | '))).toEqual([
      '1 | Start | start_trigger | compute',
      '2 | Big? | condition | compute | if → Yes "really", else → Each · reads Start',
      '3 | Each | loop | compute | for each <start.items>',
      '3.1 | Work | function | compute | reads Each',
      '4 | Yes "really" | function | compute | reads Start',
    ]);
  });

  it('prints a Mermaid flowchart with escaped labels', async () => {
    const { stdout } = await heddle('plan', '--mermaid', writeWorkflow(BRANCHING_WORKFLOW));
    expect(stdout).toBe(
      [
        'flowchart TD',
        '  n0(["Start"])',
        '  n1{"Big?"}',
        '  subgraph n2["Each (loop): for each #60;start.items#62;"]',
        '    n2_0["Work"]',
        '  end',
        '  n3["Yes #34;really#34;"]',
        '  n0 --> n1',
        '  n1 -->|"else"| n2',
        '  n1 -->|"if"| n3',
        '',
      ].join('\n'),
    );
  });

  it('prints the plan as JSON', async () => {
    const { stdout } = await heddle('plan', '--json', writeWorkflow(BRANCHING_WORKFLOW));
    expect(JSON.parse(stdout)).toMatchObject({
      data: { format: 1, start: 's', workflow: { name: 'example' } },
    });
  });

  it('prints the errors of an invalid workflow to stderr, and no plan', async () => {
    const file = writeWorkflow({ blocks: { f: code('return 1') } });
    const { exitCode, stdout, stderr } = await heddle('plan', file);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain('START_MISSING');
    expect(JSON.parse((await heddle('plan', '--json', file)).stderr)).toMatchObject({
      error: { code: 'WORKFLOW_INVALID' },
    });
  });
});

describe('output that cannot be written', () => {
  it('is reported, and the command exits with a failure', async () => {
    const exitCodeBefore = process.exitCode;
    const io = { ...createRecordingIo(), stdout: new FullDiskStream() };
    const exitCode = await main(['plan', writeWorkflow(BRANCHING_WORKFLOW)], io);
    await expect
      .poll(() => io.stderr.text)
      .toBe('heddle: Cannot write the output: ENOSPC: no space left on device, write\n');
    expect([exitCode, process.exitCode]).toContain(1);
    process.exitCode = exitCodeBefore;
  });
});
