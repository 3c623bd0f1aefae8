import { spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { levels } from '../../../../test/attacks/levels.ts';
import { filterAlive, descendantPidsOf } from '../../../../test/attacks/processes.ts';
import { createImageFolder, openImages } from '../../../../test/support/images.ts';
import { openTestNpmRegistry } from '../../../../test/support/npm-registry.ts';
import { findNpm } from './npm-settings.ts';

const DAY_MS = 24 * 3_600_000;

const commandOf = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, 'latin1');

/** Creates a stand-in for npm that sends one request to the registry, and then runs until it is killed. */
function createEndlessNpm(): string {
  const folder = createImageFolder();
  chmodSync(folder, 0o755);
  mkdirSync(join(folder, 'bin'));
  const program = join(folder, 'bin', 'npm-cli.js');
  writeFileSync(
    program,
    `process.title = 'npm install';
     for (const name of ['SIGTERM', 'SIGHUP', 'SIGPIPE', 'uncaughtException']) process.on(name, () => {});
     require('http').get(require('fs').readFileSync(process.env.HOME + '/.npmrc', 'utf8').match(/^registry=(.*)$/m)[1]).on('error', () => {});
     setInterval(() => {}, 1000);`,
  );
  return program;
}

/** Starts a host process that builds an image of the package `one` from the registry. */
function startBuildProcess(
  registry: string,
  npm: string | undefined,
  isolation: object,
): { hostPid: number; folder: string } {
  const folder = createImageFolder();
  const hostScript = join(folder, 'host.mjs');
  const indexUrl = JSON.stringify(new URL('../index.ts', import.meta.url).href);
  const options = { npm, isolation };
  writeFileSync(
    hostScript,
    `import { createImages, javascriptBuilder } from ${indexUrl};
     const images = createImages({
       folder: ${JSON.stringify(folder)},
       builders: { javascript: javascriptBuilder(${JSON.stringify(options)}) },
       registries: { npm: { registry: ${JSON.stringify(registry)} } },
     });
     await images.build({ language: 'javascript', dependencies: ['one'] });`,
  );
  const child = spawn(process.execPath, ['--conditions=@heddle/source', hostScript], { stdio: 'ignore' });
  onTestFinished(() => void child.kill('SIGKILL'));
  return { hostPid: child.pid as number, folder };
}

/** Returns the build's work folder, and the folder of npm's files if npm's user cannot access the work folder. */
function buildFoldersOf(folder: string): string[] {
  const [name = ''] = readdirSync(join(folder, 'work'));
  const workFolder = join(folder, 'work', name);
  const links = readdirSync(workFolder).filter((entry) => entry.startsWith('heddle-build-'));
  return [workFolder, ...links.map((link) => readlinkSync(join(workFolder, link)))];
}

type Case = [
  description: string,
  level: string,
  program: string | undefined | (() => string),
  isolation: object,
];

describe.runIf(process.platform === 'linux')('processes of a build whose host is killed', () => {
  const npmPath = findNpm(process.env['PATH']);
  it.each<Case>([
    ['npm', 'basic', npmPath, { level: 'basic' }],
    ...levels.map(({ name, options }): Case => ['npm', name, npmPath, options.isolation ?? {}]),
    ...levels.map(({ name, options }): Case => [
      'a program that ignores signals',
      name,
      createEndlessNpm,
      options.isolation ?? {},
    ]),
  ])(
    'end as well, and garbage collection removes their folders: %s at the isolation level %s',
    async (_description, _level, program, isolation) => {
      const registry = await openTestNpmRegistry([]);
      const firstRequest = new Promise<void>((resolve) => {
        // The registry never responds, so npm keeps waiting.
        registry.intercept = () => (resolve(), true);
      });
      const { hostPid, folder } = startBuildProcess(
        registry.url,
        typeof program === 'function' ? program() : program,
        isolation,
      );
      await firstRequest;
      const childPids = filterAlive(descendantPidsOf(hostPid));
      // npm sets its process title to its command.
      expect(childPids.some((pid) => commandOf(pid).startsWith('npm install'))).toBe(true);
      process.kill(hostPid, 'SIGKILL');
      await expect.poll(() => filterAlive(childPids), { timeout: 10_000 }).toEqual([]);
      const folders = buildFoldersOf(folder);
      expect(folders.map((path) => existsSync(path))).toEqual(folders.map(() => true));
      const now = (): number => Date.now() + 2 * DAY_MS;
      await openImages({}, { folder, clock: { now, sleep: () => Promise.resolve() } }).collectGarbage();
      expect(folders.map((path) => existsSync(path))).toEqual(folders.map(() => false));
    },
  );
});
