import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { runHeddle } from '../support/heddle.ts';
import { code, start, workflowFile } from '../support/workflow-file.ts';
import { ADD_WORKFLOW, createFlowFolder, run } from './flow.ts';

describe('a run that cannot start', () => {
  it.each([
    ['broken JSON', '{"blocks": {,}}', 'flow.json:1:13  JSON_INVALID'],
    ['JSON that is no workflow', '{"a": 1}', 'INPUT_SHAPE'],
    [
      'an unknown reference',
      JSON.stringify(workflowFile({ blocks: { s: start(), f: code('return <strat.a>') }, edges: ['s > f'] })),
      '<start.a>',
    ],
    ['no start block', JSON.stringify(workflowFile({ blocks: { f: code('return 1') } })), 'START_MISSING'],
  ])('exits with 2 and prints diagnostics: %s', async (_, text, message) => {
    const { exitCode, stdout, stderr } = await run(createFlowFolder(text));
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain(message);
    expect(stderr).toContain('✗ flow.json cannot run: 1 error');
  });

  it('with --json prints JSON to stderr, and nothing to stdout', async () => {
    const { exitCode, stdout, stderr } = await run(createFlowFolder('{'), '--json');
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(JSON.parse(stderr)).toMatchObject({
      error: { code: 'WORKFLOW_INVALID', details: { diagnostics: [{ code: 'JSON_INVALID' }] } },
    });
  });

  it.each([
    [['--input', '{a: 1}'], 'The value of --input is not JSON'],
    [['--input', '{"error": 1}'], 'The start block "Start" cannot accept "error"'],
    [['--mock', 'agent'], '--mock agent has no block type.'],
    [['--mocks', 'none.json'], 'There is no file none.json.'],
    [['--env', 'NOT_SET'], 'NOT_SET is not set'],
    [['--workflows', 'none'], 'There is no folder none.'],
    [['--data', 'flow.json/data'], 'flow.json/data'],
    [['--jsno'], 'Did you mean --json?'],
  ])('exits with 2 and prints a hint: %j', async (args, message) => {
    const { exitCode, stdout, stderr } = await run(createFlowFolder(ADD_WORKFLOW), ...args);
    expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
    expect(stderr).toContain(message);
  });
});

describe('child workflows', () => {
  const examplesFolder = fileURLToPath(new URL('../../examples/child-workflow', import.meta.url));

  it('are found by id in the folder of --workflows, among other files', async () => {
    const cwd = createDataFolder();
    mkdirSync(join(cwd, 'children'));
    for (const name of ['quote.json', 'price-list.json'])
      writeFileSync(join(cwd, 'children', name), readFileSync(join(examplesFolder, name)));
    writeFileSync(join(cwd, 'children', 'mocks.json'), '{"types": {}}');
    writeFileSync(join(cwd, 'children', 'broken.json'), '{');
    const { exitCode, stdout, stderr } = await runHeddle(
      ['run', 'children/quote.json', '--workflows', 'children'],
      {
        cwd,
      },
    );
    expect(exitCode).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ result: { total: 1376 } });
    expect(stderr).toContain('! children/broken.json: ');
    expect(stderr).not.toContain('mocks.json');
  });

  it('that are missing fail the run with a hint', async () => {
    const { exitCode, stderr } = await runHeddle(['run', join(examplesFolder, 'quote.json')], {
      cwd: createDataFolder(),
    });
    expect(exitCode).toBe(1);
    expect(stderr).toContain('--workflows DIR');
  });
});
