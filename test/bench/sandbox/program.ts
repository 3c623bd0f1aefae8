import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { peakMemory } from '../contenders/process.ts';
import { FOLDER, PEERS } from '../peer.ts';
import { PROCESS_ENV } from '../process-env.ts';
import type { Contender } from '../workload.ts';

/** Output of a program that has its first result. */
export const SAYS = 'done';

/** Returns the milliseconds from the start of a process to its first output. Throws if the output is not the expected one. */
export function firstResult(command: string, args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const from = performance.now();
    const child = spawn(command, args, { cwd: FOLDER, env: PROCESS_ENV, stdio: ['ignore', 'pipe', 'pipe'] });
    let tookMs = 0;
    let said = '';
    let complaint = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      tookMs ||= performance.now() - from;
      said += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => (complaint += text));
    child.on('error', reject);
    child.on('close', () => {
      if (said.trim() === SAYS) return resolve(tookMs);
      reject(new Error(complaint.trim().split('\n').at(-1) || `it said "${said.trim()}"`));
    });
  });
}

interface Origin {
  /** URL of the contender's module, and the name of its export. */
  url: string;
  name?: string;
  /** Options of Node.js for its process. */
  flags?: readonly string[];
}

/**
 * Returns the arguments of a Node.js process that runs the contender's workload `sandbox`. The last argument is the number of
 * runs. The program is one file of plain JavaScript, like a program that uses only this contender: its start strips no types
 * and loads only the contender's packages.
 */
async function programOf({ url, name = 'contender', flags = [] }: Origin): Promise<string[]> {
  const { build } = await import('esbuild');
  const file = fileURLToPath(url);
  const folder = join(PEERS, '.heddle-programs');
  mkdirSync(folder, { recursive: true });
  const outfile = join(folder, `${relative(FOLDER, file).replaceAll(/\W+/g, '-')}-${name}.mjs`);
  const contents = `
import { ${name} as contender } from ${JSON.stringify(file)};
const prepared = await contender.sandbox(1);
for (let runs = Number(process.argv[2]); runs > 0; runs--) await prepared.once();
process.stdout.write(${JSON.stringify(SAYS)}, () => process.exit(0));`;
  await build({
    stdin: { contents, resolveDir: FOLDER },
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    // Peers are resolved from this URL.
    define: { 'import.meta.url': JSON.stringify(pathToFileURL(join(FOLDER, 'peer.ts')).href) },
    logLevel: 'silent',
  });
  return [...flags, outfile];
}

/** Measures a program that uses only this contender: its start, and its memory after `size` runs, in MB. */
export function inProgram(origin: Origin): Pick<Contender, 'sandbox program' | 'sandbox memory'> {
  return {
    'sandbox program': async () => {
      const program = await programOf(origin);
      return { sample: () => firstResult(process.execPath, [...program, '1']) };
    },
    'sandbox memory': async (size) => {
      const program = await programOf(origin);
      return { sample: async () => peakMemory([...program, String(size)], FOLDER) };
    },
  };
}
