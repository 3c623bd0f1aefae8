import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { createDataFolder } from './support/data-folder.ts';
import { runHeddle } from './support/heddle.ts';

const FIXTURES_FOLDER = fileURLToPath(new URL('fixtures/exported', import.meta.url));
const MOCKS_FILE = join(FIXTURES_FOLDER, 'mocks.json');
const INPUT_FILE = join(FIXTURES_FOLDER, 'input.json');
const WORKFLOWS_FOLDER = process.env['HEDDLE_WORKFLOWS'];

/** Returns the paths of the exported workflows in a folder, without the mock and input files. */
function listWorkflowFiles(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json') && ![MOCKS_FILE, INPUT_FILE].includes(join(folder, name)))
    .map((name) => join(folder, name));
}

/** Checks and runs a workflow with the CLI, with integrations mocked by type and a scripted model. */
async function expectCompletion(file: string): Promise<void> {
  const checkResult = await runHeddle(['check', '--json', file]);
  const { diagnostics } = JSON.parse(checkResult.stdout) as {
    diagnostics: { severity: string; code: string }[];
  };
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  expect(checkResult.exitCode).toBe(0);

  const dataPath = join(createDataFolder(), 'data');
  const args = [
    '--mocks',
    MOCKS_FILE,
    '--input',
    `@${INPUT_FILE}`,
    '--data',
    dataPath,
    '--timeout',
    '60',
    '--json',
  ];
  const runResult = await runHeddle(['run', file, ...args]);
  expect({ exitCode: runResult.exitCode, stderr: runResult.stderr }).toEqual({ exitCode: 0, stderr: '' });
  const { data: run } = JSON.parse(runResult.stdout) as { data: { runId: string; status: string } };
  expect(run.status).toBe('completed');

  const showResult = await runHeddle(['runs', 'show', run.runId, '--data', dataPath, '--json']);
  const { logs } = (JSON.parse(showResult.stdout) as { data: { logs: { status: string }[] } }).data;
  expect(logs.length).toBeGreaterThan(1);
  expect(logs.filter(({ status }) => status !== 'completed')).toEqual([]);
}

describe('exported workflows among the fixtures', () => {
  it.each(listWorkflowFiles(FIXTURES_FOLDER).map((file) => [basename(file), file]))(
    'complete: %s',
    async (_, file) => {
      await expectCompletion(file);
    },
  );
});

const files = WORKFLOWS_FOLDER === undefined ? [] : listWorkflowFiles(WORKFLOWS_FOLDER);
if (WORKFLOWS_FOLDER === undefined) {
  process.stderr.write(
    'Skipped: exported workflows, because HEDDLE_WORKFLOWS is not set to a folder of workflows.\n',
  );
}

describe.skipIf(WORKFLOWS_FOLDER === undefined)('exported workflows in the folder HEDDLE_WORKFLOWS', () => {
  it('exist', () => {
    expect(files.length).toBeGreaterThan(0);
  });

  it.each(files.map((file) => [basename(file), file]))('complete: %s', async (_, file) => {
    await expectCompletion(file);
  });
});
