import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { dataFolder } from './support/data-folder.ts';
import { heddle } from './support/heddle.ts';

const FIXTURES = fileURLToPath(new URL('fixtures/exported', import.meta.url));
const MOCKS = join(FIXTURES, 'mocks.json');
const INPUT = join(FIXTURES, 'input.json');
const WORKFLOWS_FOLDER = process.env['HEDDLE_WORKFLOWS'];

/** Returns the paths of the exported workflows in a folder, without the files of mocks and inputs. */
function workflowsIn(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.json') && ![MOCKS, INPUT].includes(join(folder, name)))
    .map((name) => join(folder, name));
}

/** Checks and runs a workflow with the CLI, with integrations mocked by type and a scripted model. */
async function expectToComplete(file: string): Promise<void> {
  const check = await heddle(['check', '--json', file]);
  const { diagnostics } = JSON.parse(check.stdout) as { diagnostics: { severity: string; code: string }[] };
  expect(diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  expect(check.exit).toBe(0);

  const data = join(dataFolder(), 'data');
  const args = ['--mocks', MOCKS, '--input', `@${INPUT}`, '--data', data, '--timeout', '60', '--json'];
  const execution = await heddle(['run', file, ...args]);
  expect({ exit: execution.exit, stderr: execution.stderr }).toEqual({ exit: 0, stderr: '' });
  const { data: run } = JSON.parse(execution.stdout) as { data: { runId: string; status: string } };
  expect(run.status).toBe('completed');

  const details = await heddle(['runs', 'show', run.runId, '--data', data, '--json']);
  const { logs } = (JSON.parse(details.stdout) as { data: { logs: { status: string }[] } }).data;
  expect(logs.length).toBeGreaterThan(1);
  expect(logs.filter(({ status }) => status !== 'completed')).toEqual([]);
}

describe('exported workflows among the fixtures', () => {
  it.each(workflowsIn(FIXTURES).map((file) => [basename(file), file]))('complete: %s', async (_, file) => {
    await expectToComplete(file);
  });
});

const files = WORKFLOWS_FOLDER === undefined ? [] : workflowsIn(WORKFLOWS_FOLDER);
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
    await expectToComplete(file);
  });
});
