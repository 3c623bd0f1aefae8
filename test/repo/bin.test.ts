import { spawnSync } from 'node:child_process';
import {
  accessSync,
  constants,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join, posix } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { sample } from '../support/scale.ts';
import { startHeddle } from '../support/heddle.ts';
import type { RunningCommand } from '../support/heddle.ts';
import { start as trigger, workflowFile } from '../support/workflow-file.ts';
import { packageFolders, type Manifest, readJson, repositoryFolder } from './sources.ts';

interface ProcessResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

const BIN = join(repositoryFolder, 'packages/cli/bin/heddle.js');
const { version } = readJson<Manifest & { version: string }>('packages/cli/package.json');

function runBin(node: string, bin: string, args: readonly string[]): ProcessResult {
  const { status, stdout, stderr } = spawnSync(node, [bin, ...args], { encoding: 'utf8' });
  return { code: status, stdout, stderr };
}

function majorVersionOf(node: string): number {
  try {
    accessSync(node, constants.X_OK);
  } catch {
    return Number.NaN;
  }
  return Number(spawnSync(node, ['-p', 'process.versions.node'], { encoding: 'utf8' }).stdout.split('.')[0]);
}

/** The path of a Node that is too old for Heddle, and new enough for its bin; undefined if PATH has none. */
const oldNodePath = (process.env['PATH'] ?? '')
  .split(delimiter)
  .map((folder) => join(folder, 'node'))
  .find((node) => majorVersionOf(node) >= 20 && majorVersionOf(node) < 24);

describe('the bin of the CLI', () => {
  let folder = '';
  let unbuiltBin = '';

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'heddle-bin-'));
    unbuiltBin = join(folder, 'bin/heddle.js');
    mkdirSync(join(folder, 'bin'));
    cpSync(BIN, unbuiltBin);
    cpSync(join(repositoryFolder, 'packages/cli/package.json'), join(folder, 'package.json'));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('starts the built CLI and ends with its exit code', () => {
    expect(runBin(process.execPath, BIN, ['--version'])).toEqual({
      code: 0,
      stdout: `${version}\n`,
      stderr: '',
    });
    expect(runBin(process.execPath, BIN, ['--no-such-option']).code).toBe(2);
  });

  it('prints a hint if the CLI is not built', () => {
    const { code, stderr } = runBin(process.execPath, unbuiltBin, ['--version']);
    expect([code, stderr]).toEqual([2, expect.stringContaining('npm run build')]);
  });

  it.skipIf(!oldNodePath)('restarts itself on the pinned Node if this Node is too old', () => {
    expect(runBin(oldNodePath ?? '', BIN, ['--version'])).toEqual({
      code: 0,
      stdout: `${version}\n`,
      stderr: '',
    });
    expect(runBin(oldNodePath ?? '', BIN, ['--no-such-option']).code).toBe(2);
  });

  it.skipIf(!oldNodePath)('names the required Node if there is no pinned Node', () => {
    const { code, stderr } = runBin(oldNodePath ?? '', unbuiltBin, ['--version']);
    expect([code, stderr]).toEqual([2, expect.stringMatching(/needs Node 24 or newer; this is v2\d/)]);
  });
});

/** Returns whether the process exists and has not ended. */
function isRunning(pid: number): boolean {
  const { stdout } = spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' });
  return /^[^Z\s]/.test(stdout);
}

const ONE_HOUR_WAIT = workflowFile({
  blocks: {
    s: trigger(),
    nap: { type: 'wait', name: 'Nap', fields: { timeValue: '1', timeUnit: 'hours' } },
  },
  edges: ['s > nap'],
});

/** Returns the id of the first child of a process, from /proc. */
function findFirstChildPid(pid: number): number {
  const ids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  const child = ids.find((id) => {
    try {
      // The parent's id is the second field after the name, which is in parentheses and may contain any text.
      return readFileSync(`/proc/${id}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1] === String(pid);
    } catch {
      return false; // The process has ended since the folder was read.
    }
  });
  return Number(child);
}

describe.skipIf(!oldNodePath)('the bin on a Node that is too old, with the pinned Node as its child', () => {
  /** Starts a run that waits for an hour. Returns the command and the id of its child process. */
  async function startWaitingRun(execPath: string): Promise<{ command: RunningCommand; childId: number }> {
    const cwd = createDataFolder();
    writeFileSync(join(cwd, 'nap.json'), JSON.stringify(ONE_HOUR_WAIT));
    const command = startHeddle(['run', 'nap.json'], { cwd, execPath });
    await command.waitForText('‖ Nap');
    return { command, childId: findFirstChildPid(command.child.pid ?? 0) };
  }

  const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2'] as const;
  it.each(sample(SIGNALS, 1, 'signals that end a process'))(
    'forwards %s, and ends like Node 24 itself',
    async (signal) => {
      const exits = [];
      for (const node of [process.execPath, oldNodePath ?? '']) {
        const { command } = await startWaitingRun(node);
        command.child.kill(signal);
        const { exitCode, signal: endSignal } = await command.result;
        exits.push({ exitCode, endSignal });
      }
      expect(exits[1]).toEqual(exits[0]);
      const expected =
        signal === 'SIGINT' ? { exitCode: 4, endSignal: null } : { exitCode: null, endSignal: signal };
      expect(exits[1]).toEqual(expected);
    },
  );

  it('ends its child when it is killed', async () => {
    const { command, childId } = await startWaitingRun(oldNodePath ?? '');
    expect(isRunning(childId)).toBe(true);
    command.child.kill('SIGKILL');
    await expect.poll(() => isRunning(childId), { timeout: 10_000 }).toBe(false);
  });

  it('ends by the signal that ended its child', async () => {
    const { command, childId } = await startWaitingRun(oldNodePath ?? '');
    process.kill(childId, 'SIGKILL');
    expect(await command.result).toMatchObject({ exitCode: null, signal: 'SIGKILL' });
  });
});

/**
 * Entry points that do not check the version of Node. The machine is also compiled into Temporal's workflows, which run
 * without Node. The others have only types.
 */
const UNCHECKED_ENTRY_POINTS = [
  ...['@heddle/core/machine', '@heddle/api/ports'],
  ...['@heddle/engine/tenant-data', '@heddle/engine/triggers'],
];

describe('packages that are imported on a Node that is too old', () => {
  // The bin of the CLI reports this itself, before it loads any module.
  const libraryFolders = packageFolders().filter((folder) => folder !== 'cli');
  const entryPoints = libraryFolders.flatMap((folder) => {
    const { name, exports = {} } = readJson<Manifest>(`packages/${folder}/package.json`);
    return Object.keys(exports)
      .filter((path) => !path.endsWith('.json'))
      .map((path) => posix.join(name, path))
      .filter((entryPoint) => !UNCHECKED_ENTRY_POINTS.includes(entryPoint));
  });

  const sampledEntryPoints = sample(entryPoints, 2, 'entry points on a Node that is too old');
  it.skipIf(!oldNodePath).each(sampledEntryPoints)(
    '%s names the required Node in one sentence',
    (entryPoint) => {
      const code = `import(${JSON.stringify(entryPoint)}).catch(({ message }) => console.log(message))`;
      const { stdout, stderr } = spawnSync(oldNodePath ?? '', ['-e', code], {
        cwd: repositoryFolder,
        encoding: 'utf8',
      });
      expect({ stdout, stderr }).toEqual({
        stdout: expect.stringMatching(/^Heddle needs Node\.js 24 or newer; this is v2\d[.\d]+\.\n$/),
        stderr: '',
      });
    },
  );
});

describe('npm ci on a Node that is too old', () => {
  it.skipIf(!oldNodePath)(
    'prints no warning about engines, because npm scripts run on the pinned Node',
    () => {
      const folder = createDataFolder();
      const manifestFiles = packageFolders().map((name) => `packages/${name}/package.json`);
      for (const file of [
        '.npmrc',
        'package.json',
        'package-lock.json',
        'test/client/package.json',
        ...manifestFiles,
      ]) {
        cpSync(join(repositoryFolder, file), join(folder, file));
      }
      const npm = join(dirname(oldNodePath ?? ''), 'npm');
      const result = spawnSync(npm, ['ci', '--dry-run', '--offline', '--ignore-scripts'], {
        cwd: folder,
        encoding: 'utf8',
        env: { PATH: `${dirname(oldNodePath ?? '')}${delimiter}${process.env['PATH']}`, HOME: folder },
      });
      expect(result).toMatchObject({ status: 0, stdout: expect.stringMatching(/added \d+ packages/) });
      expect(result.stderr).not.toContain('EBADENGINE');
    },
  );
});
