import { spawnSync } from 'node:child_process';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { install, pack } from '../repo/exports.ts';
import { repositoryFolder } from '../repo/sources.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { start, workflowFile } from '../support/workflow-file.ts';

describe('the CLI, installed from its tarball without @heddle/temporal', { timeout: 120_000 }, () => {
  let folder = '';

  beforeAll(() => {
    folder = createDataFolder(afterAll);
    install([pack(join(repositoryFolder, 'packages/cli'), folder)], folder);
    mkdirSync(join(folder, 'node_modules/@heddle'));
    for (const name of ['core', 'sandbox', 'engine', 'blocks', 'api'])
      symlinkSync(join(repositoryFolder, 'packages', name), join(folder, 'node_modules/@heddle', name));
    writeFileSync(join(folder, 'flow.json'), JSON.stringify(workflowFile({ blocks: { s: start() } })));
  }, 120_000);

  const runHeddle = (...args: string[]) => {
    const bin = join(folder, 'node_modules/heddle/bin/heddle.js');
    const { status, stdout, stderr } = spawnSync(process.execPath, [bin, ...args], {
      cwd: folder,
      encoding: 'utf8',
    });
    return { exitCode: status, stdout, stderr };
  };

  it('does not require @heddle/temporal', () => {
    const manifest: unknown = JSON.parse(
      readFileSync(join(folder, 'node_modules/heddle/package.json'), 'utf8'),
    );
    expect(manifest).toMatchObject({ peerDependenciesMeta: { '@heddle/temporal': { optional: true } } });
    expect(JSON.stringify((manifest as { dependencies: object }).dependencies)).not.toContain('temporal');
  });

  it('checks and runs workflows, and lists runs', () => {
    expect(runHeddle('check', 'flow.json')).toMatchObject({ exitCode: 0, stderr: '' });
    expect(runHeddle('run', 'flow.json')).toMatchObject({ exitCode: 0 });
    expect(runHeddle('runs', 'list')).toMatchObject({
      exitCode: 0,
      stdout: expect.stringContaining('completed'),
    });
  });

  it.each([['worker'], ['dev'], ['run', 'flow.json', '--runtime', 'temporal']])(
    'says how to install @heddle/temporal: %s',
    (...args) => {
      const { exitCode, stdout, stderr } = runHeddle(...args);
      expect({ exitCode, stdout }).toEqual({ exitCode: 2, stdout: '' });
      expect(stderr).toContain('Temporal needs the package @heddle/temporal, which is not installed.');
      expect(stderr).toMatch(/npm install @heddle\/temporal@\d/);
    },
  );
});
