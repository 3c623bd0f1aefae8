import { checkControlGroup } from '@heddle/sandbox';
import { describe, expect, it } from 'vitest';
import { findBubblewrap } from '../support/bubblewrap.ts';
import { runHeddle } from '../support/heddle.ts';
import { isReadableByOthers } from '../support/other-users.ts';
import { ADD_WORKFLOW, createFlowFolder, run } from './flow.ts';

const isLinux = process.platform === 'linux';
const bubblewrapPath = isLinux ? findBubblewrap() : undefined;

describe('heddle sandbox doctor', () => {
  it.runIf(bubblewrapPath !== undefined)('reports strict isolation, and exits with 0', async () => {
    const args = ['sandbox', 'doctor', '--minimum', 'strict', '--bubblewrap', bubblewrapPath!];
    const { exitCode, stdout, stderr } = await runHeddle(args);
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: '' });
    expect(stdout).toMatch(/^✓ The isolation level is strict; the minimum is strict\.$/m);
    expect(stdout).toMatch(/^✓ A process that tried to escape was refused everything$/m);
    for (const { found } of checkControlGroup()) expect(stdout).toContain(found);
    expect(stdout).toMatch(/^ {2}isolatedVm +\d+\.\d+\.\d+$/m);
    expect(stdout).toMatch(/^ {2}wallMs +60,000$/m);
    expect(stdout).toMatch(/^ {2}files +256$/m);
  });

  it.runIf(isLinux)('reports what is missing for the minimum level, and exits with 1', async () => {
    const args = ['sandbox', 'doctor', '--minimum', 'strict', '--bubblewrap', '/nowhere/bwrap'];
    const { exitCode, stdout } = await runHeddle(args);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^✗ The isolation level is standard; the minimum strict is not met\.$/m);
    expect(stdout).toMatch(/^ {2}Native images need the level strict: /m);
    expect(stdout).toMatch(/^✗ \/nowhere\/bwrap cannot be run\n {2}→ correct isolation\.bubblewrap$/m);
  });

  it.runIf(isLinux && isReadableByOthers)(
    'requires the level standard by default, and prints JSON',
    async () => {
      const { exitCode, stdout } = await runHeddle([
        'sandbox',
        'doctor',
        '--json',
        '--bubblewrap',
        '/nowhere/bwrap',
      ]);
      expect(exitCode).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({
        data: {
          level: 'standard',
          minimum: 'standard',
          met: true,
          reasons: { strict: [expect.stringContaining('/nowhere/bwrap')] },
          checks: expect.arrayContaining([expect.objectContaining({ name: 'prlimit', result: 'ok' })]),
          versions: { node: process.versions.node, v8: process.versions.v8 },
          limits: { job: { wallMs: 60_000 }, process: { fileMiB: 0 } },
        },
      });
    },
  );

  it('refuses an unknown level, and names the three levels', async () => {
    const { exitCode, stderr } = await runHeddle(['sandbox', 'doctor', '--minimum', 'total']);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('basic, standard, strict');
  });
});

const INPUT = ['--input', '{"a": 1, "b": 2}'];

describe('heddle run --isolation', () => {
  it('runs a workflow only with sufficient isolation', async () => {
    const { stdout } = await runHeddle(['sandbox', 'doctor', '--json']);
    const { level } = (JSON.parse(stdout) as { data: { level: string } }).data;
    expect((await run(createFlowFolder(ADD_WORKFLOW), ...INPUT, '--isolation', level)).exitCode).toBe(0);
    const { exitCode, stderr } = await run(createFlowFolder(ADD_WORKFLOW), ...INPUT, '--isolation', 'strict');
    if (level === 'strict') expect(exitCode).toBe(0);
    else expect([exitCode, stderr]).toEqual([2, expect.stringContaining('strict is the minimum')]);
  });
});
