import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { peakMemory } from '../contenders/process.ts';
import { FOLDER, PEERS } from '../peer.ts';
import { PROCESS_ENV } from '../process-env.ts';
import type { Contender } from '../workload.ts';

/** What a program says once it has its first result. */
export const SAYS = 'done';

/** Milliseconds from the start of a process to what it says; throws when that is something else. */
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
  /** URL of the contender's module, and the name it has there. */
  url: string;
  name?: string;
  /** Flags that its process needs. */
  flags?: readonly string[];
}

/**
 * The arguments of a process of Node.js that runs the contender's workload `sandbox` as many times as the last one says.
 * The program is plain JavaScript in one file, as somebody would write it who has nothing but this contender: no types are
 * stripped at its start, and only the contender's own packages are loaded.
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
    // Paths of peers are made of it.
    define: { 'import.meta.url': JSON.stringify(pathToFileURL(join(FOLDER, 'peer.ts')).href) },
    logLevel: 'silent',
  });
  return [...flags, outfile];
}

/** What a contender costs that is alone in a program: its start, and its memory after `size` runs, in MB. */
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
