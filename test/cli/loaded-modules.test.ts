import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createDataFolder } from '../support/data-folder.ts';
import { runHeddle } from '../support/heddle.ts';
import { start, workflowFile } from '../support/workflow-file.ts';

// A module that Node.js loads before the CLI. When the process ends, it writes the list of loaded modules.
const RECORDER = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from 'node:module';
import { writeFileSync } from 'node:fs';
const loadedUrls = [];
registerHooks({ load(url, context, next) { loadedUrls.push(url); return next(url, context); } });
process.on('exit', () => writeFileSync(process.env.LOADED, JSON.stringify(loadedUrls)));
`)}`;

interface Metafile {
  outputs: { [file: string]: { inputs: { [source: string]: unknown } } };
}

const metafile = JSON.parse(
  readFileSync(new URL('../../packages/cli/dist/meta.json', import.meta.url), 'utf8'),
) as Metafile;

/** Returns every module that a command loads: the sources of loaded chunks, and modules outside the bundle. */
async function listLoadedModules(...args: string[]): Promise<string[]> {
  const folder = createDataFolder();
  writeFileSync(join(folder, 'flow.json'), JSON.stringify(workflowFile({ blocks: { s: start() } })));
  const file = join(folder, 'loaded.json');
  const { exitCode } = await runHeddle(args, {
    cwd: folder,
    env: { LOADED: file },
    nodeOptions: ['--import', RECORDER],
  });
  expect(exitCode).toBe(0);
  const urls = JSON.parse(readFileSync(file, 'utf8')) as string[];
  const sources = new Map(
    Object.entries(metafile.outputs).map(([output, { inputs }]) => [basename(output), Object.keys(inputs)]),
  );
  return urls.flatMap((url) => sources.get(basename(url)) ?? [url]);
}

const HEAVY_MODULES = /engine\/src|\/sandbox\/|sqlite|undici|isolated-vm|p-queue/;
const TEMPORAL_MODULES = /packages\/temporal\/|@temporalio|src\/temporal\//;

describe('the modules that a command loads', () => {
  it.each([[['--version']], [['help', 'run']], [['check', 'flow.json']], [['plan', 'flow.json']]])(
    'exclude engine, database, network and sandbox for %j',
    async (args) => {
      const loadedModules = await listLoadedModules(...args);
      expect(loadedModules).toContain('src/main.ts');
      expect(
        loadedModules.filter((module) => HEAVY_MODULES.test(module) || TEMPORAL_MODULES.test(module)),
      ).toEqual([]);
    },
  );

  it('exclude the compiler for --version', async () => {
    expect(
      (await listLoadedModules('--version')).filter((module) => /core\/src|zod|graphology/.test(module)),
    ).toEqual([]);
  });

  it('exclude Temporal for running locally and for reading runs', async () => {
    for (const args of [
      ['run', 'flow.json'],
      ['runs', 'list'],
    ]) {
      expect((await listLoadedModules(...args)).filter((module) => TEMPORAL_MODULES.test(module))).toEqual(
        [],
      );
    }
  });

  it('include the database but not the sandbox for reading runs', async () => {
    const loadedModules = await listLoadedModules('runs', 'list');
    expect(loadedModules.some((module) => module.includes('engine/src/reader'))).toBe(true);
    expect(loadedModules.filter((module) => /\/sandbox\/|undici|isolated-vm/.test(module))).toEqual([]);
  });

  it('exclude the packages of the sandbox for runs without code', async () => {
    const loadedModules = await listLoadedModules('run', 'flow.json');
    expect(loadedModules.some((module) => module.includes('engine/src'))).toBe(true);
    expect(loadedModules.filter((module) => /isolated-vm|undici/.test(module))).toEqual([]);
  });
});
