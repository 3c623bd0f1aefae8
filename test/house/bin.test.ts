import { spawnSync } from 'node:child_process';
import { accessSync, constants, cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Manifest, readJson, repository } from './sources.ts';

interface Outcome {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const BIN = join(repository, 'packages/cli/bin/heddle.js');
const { version } = readJson<Manifest & { version: string }>('packages/cli/package.json');

function start(node: string, bin: string, args: readonly string[]): Outcome {
  const { status, stdout, stderr } = spawnSync(node, [bin, ...args], { encoding: 'utf8' });
  return { code: status, stdout, stderr };
}

function majorOf(node: string): number {
  try {
    accessSync(node, constants.X_OK);
  } catch {
    return Number.NaN;
  }
  return Number(spawnSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).stdout.split('.')[0]);
}

/** A Node of this machine that is too old for Heddle, and new enough for its bin. */
const oldNode = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'node'))
  .find((node) => majorOf(node) >= 20 && majorOf(node) < 24);

describe('the bin of the command line', () => {
  let folder = '';
  let lonely = '';

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'heddle-bin-'));
    lonely = join(folder, 'bin/heddle.js');
    mkdirSync(join(folder, 'bin'));
    cpSync(BIN, lonely);
    cpSync(join(repository, 'packages/cli/package.json'), join(folder, 'package.json'));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('starts the built command line and ends with its exit code', () => {
    expect(start(process.execPath, BIN, ['--version'])).toEqual({
      code: 0,
      stdout: `${version}\n`,
      stderr: '',
    });
    expect(start(process.execPath, BIN, ['--no-such-option']).code).toBe(2);
  });

  it('says what to do where the command line is not built', () => {
    const { code, stderr } = start(process.execPath, lonely, ['--version']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('npm run build')]);
  });

  it.skipIf(!oldNode)('starts itself again on the pinned Node where this one is too old', () => {
    expect(start(oldNode ?? '', BIN, ['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' });
    expect(start(oldNode ?? '', BIN, ['--no-such-option']).code).toBe(2);
  });

  it.skipIf(!oldNode)('says which Node it needs where there is no pinned one', () => {
    const { code, stderr } = start(oldNode ?? '', lonely, ['--version']);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/needs Node 24 or newer, this is v2\d/)]);
  });
});
