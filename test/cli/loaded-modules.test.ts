import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { dataFolder } from '../support/data-folder.ts';
import { heddle } from '../support/heddle.ts';
import { start, workflowFile } from '../support/workflow-file.ts';

// A module that Node.js loads before the CLI. When the process ends, it writes the list of loaded modules.
const RECORDER = `data:text/javascript,${encodeURIComponent(`
import { registerHooks } from 'node:module';
import { writeFileSync } from 'node:fs';
const loaded = [];
registerHooks({ load(url, context, next) { loaded.push(url); return next(url, context); } });
process.on('exit', () => writeFileSync(process.env.LOADED, JSON.stringify(loaded)));
`)}`;

interface Bundle {
  outputs: { [file: string]: { inputs: { [source: string]: unknown } } };
}

const bundle = JSON.parse(
  readFileSync(new URL('../../packages/cli/dist/meta.json', import.meta.url), 'utf8'),
) as Bundle;

/** Returns every module that a command loads: the sources of loaded chunks, and modules outside the bundle. */
async function listLoadedModules(...args: string[]): Promise<string[]> {
  const folder = dataFolder();
  writeFileSync(join(folder, 'flow.json'), JSON.stringify(workflowFile({ blocks: { s: start() } })));
  const file = join(folder, 'loaded.json');
  const { exit } = await heddle(args, { cwd: folder, env: { LOADED: file }, node: ['--import', RECORDER] });
  expect(exit).toBe(0);
  const urls = JSON.parse(readFileSync(file, 'utf8')) as string[];
  const sources = new Map(
    Object.entries(bundle.outputs).map(([output, { inputs }]) => [basename(output), Object.keys(inputs)]),
  );
  return urls.flatMap((url) => sources.get(basename(url)) ?? [url]);
}

const HEAVY = /engine\/src|\/sandbox\/|sqlite|undici|isolated-vm|p-queue/;
const TEMPORAL = /packages\/temporal\/|@temporalio|src\/temporal\//;

describe('the modules that a command loads', () => {
  it.each([[['--version']], [['help', 'run']], [['check', 'flow.json']], [['plan', 'flow.json']]])(
    'exclude engine, database, network and sandbox for %j',
    async (args) => {
      const loaded = await listLoadedModules(...args);
      expect(loaded).toContain('src/main.ts');
      expect(loaded.filter((module) => HEAVY.test(module) || TEMPORAL.test(module))).toEqual([]);
    },
  );

  it('exclude the compiler for --version', async () => {
    expect(
      (await listLoadedModules('--version')).filter((module) => /core\/src|zod|graphology/.test(module)),
    ).toEqual([]);
  });

  it('exclude Temporal for local runs and reading runs', async () => {
    for (const args of [
      ['run', 'flow.json'],
      ['runs', 'list'],
    ]) {
      expect((await listLoadedModules(...args)).filter((module) => TEMPORAL.test(module))).toEqual([]);
    }
  });

  it('include the database but not the sandbox for reading runs', async () => {
    const loaded = await listLoadedModules('runs', 'list');
    expect(loaded.some((module) => module.includes('engine/src/reader'))).toBe(true);
    expect(loaded.filter((module) => /\/sandbox\/|undici|isolated-vm/.test(module))).toEqual([]);
  });

  it('exclude the packages of the sandbox for runs without code', async () => {
    const loaded = await listLoadedModules('run', 'flow.json');
    expect(loaded.some((module) => module.includes('engine/src'))).toBe(true);
    expect(loaded.filter((module) => /isolated-vm|undici/.test(module))).toEqual([]);
  });
});
