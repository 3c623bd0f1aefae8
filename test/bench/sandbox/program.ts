import { spawn } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { performance } from 'node:perf_hooks';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { measurePeakMemory } from '../contenders/process.ts';
import { BENCH_FOLDER, PEERS_FOLDER } from '../peer.ts';
import { PROCESS_ENV } from '../process-env.ts';
import type { Contender } from '../workload.ts';

/** The output of a program after its first result. */
export const DONE_OUTPUT = 'done';

/** Returns the milliseconds from the start of a process to its first output. Throws unless it prints `DONE_OUTPUT`. */
export function measureFirstOutput(command: string, args: readonly string[]): Promise<number> {
  return new Promise((resolve, reject) => {
    const startMs = performance.now();
    const child = spawn(command, args, {
      cwd: BENCH_FOLDER,
      env: PROCESS_ENV,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let firstOutputMs = 0;
    let output = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      firstOutputMs ||= performance.now() - startMs;
      output += text;
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.on('error', reject);
    child.on('close', () => {
      if (output.trim() === DONE_OUTPUT) return resolve(firstOutputMs);
      reject(new Error(stderr.trim().split('\n').at(-1) || `The program printed "${output.trim()}".`));
    });
  });
}

interface ContenderSource {
  /** URL of the contender's module, and the name of its export. */
  url: string;
  exportName?: string;
  /** Options of Node.js for its process. */
  nodeOptions?: readonly string[];
}

/**
 * Returns the arguments of a Node.js process that runs the contender's workload `sandbox`. The caller adds the number
 * of runs as the last argument. The program is one file of plain JavaScript, like a program that uses only this
 * contender: its start strips no types and loads only the contender's packages.
 */
async function buildProgramArgs({
  url,
  exportName = 'contender',
  nodeOptions = [],
}: ContenderSource): Promise<string[]> {
  const { build } = await import('esbuild');
  const file = fileURLToPath(url);
  const folder = join(PEERS_FOLDER, '.heddle-programs');
  mkdirSync(folder, { recursive: true });
  const outfile = join(folder, `${relative(BENCH_FOLDER, file).replaceAll(/\W+/g, '-')}-${exportName}.mjs`);
  const contents = `
import { ${exportName} as contender } from ${JSON.stringify(file)};
const workload = await contender.sandbox(1);
for (let runs = Number(process.argv[2]); runs > 0; runs--) await workload.runOnce();
process.stdout.write(${JSON.stringify(DONE_OUTPUT)}, () => process.exit(0));`;
  await build({
    stdin: { contents, resolveDir: BENCH_FOLDER },
    outfile,
    bundle: true,
    format: 'esm',
    platform: 'node',
    packages: 'external',
    // Peers are resolved from this URL.
    define: { 'import.meta.url': JSON.stringify(pathToFileURL(join(BENCH_FOLDER, 'peer.ts')).href) },
    logLevel: 'silent',
  });
  return [...nodeOptions, outfile];
}

/** Measures a program that uses only this contender: its start, and its memory after `size` runs, in MB. */
export function programWorkloads(
  source: ContenderSource,
): Pick<Contender, 'sandbox program' | 'sandbox memory'> {
  return {
    'sandbox program': async () => {
      const programArgs = await buildProgramArgs(source);
      return { sample: () => measureFirstOutput(process.execPath, [...programArgs, '1']) };
    },
    'sandbox memory': async (size) => {
      const programArgs = await buildProgramArgs(source);
      return { sample: async () => measurePeakMemory([...programArgs, String(size)], BENCH_FOLDER) };
    },
  };
}
