import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileFunction } from 'node:vm';
import { context } from 'esbuild';
import type { BuildContext, Plugin } from 'esbuild';
import * as fastCheck from 'fast-check';
import * as vitest from 'vitest';
import type { Mutant } from './mutant.ts';

const MACHINE_FOLDER = fileURLToPath(new URL('../../../packages/core/src/machine/', import.meta.url));
const MODEL_FOLDER = fileURLToPath(new URL('..', import.meta.url));

/** The test suites of the machine: its own tests, and the tests of the model. */
export type Suite = 'rules' | 'model';

interface TestCase {
  title: string;
  run: () => unknown;
}

/** Returns the names of the machine's files. */
export function listMachineFiles(): string[] {
  return readdirSync(MACHINE_FOLDER).filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));
}

/** Returns the text of the mutant's file with the change. Throws unless `from` occurs exactly once. */
export function applyMutant({ file, from, to, effect }: Mutant): string {
  const text = readFileSync(join(MACHINE_FOLDER, file), 'utf8');
  const count = text.split(from).length - 1;
  if (count !== 1)
    throw new Error(`mutant "${effect}" of ${file}: its text occurs ${count} times: ${from.trim()}`);
  return text.replace(from, () => to);
}

/** Runs the tests of one suite on mutants of the machine. Call `close` at the end. */
export class SuiteRunner {
  readonly #context: Promise<BuildContext<{ write: false }>>;
  #mutant: Mutant | undefined;

  constructor(suite: Suite) {
    this.#context = context({
      stdin: {
        contents: testFilesOf(suite)
          .map((file) => `import ${JSON.stringify(file)};`)
          .join('\n'),
        resolveDir: MODEL_FOLDER,
      },
      bundle: true,
      write: false,
      format: 'cjs',
      platform: 'node',
      target: 'node24',
      external: ['vitest', 'fast-check'],
      plugins: [this.#createPlugin()],
      logLevel: 'silent',
    });
  }

  /** Returns the title of the first test that fails on the mutant. Without a mutant, tests the unchanged machine. */
  async findFirstFailure(mutant?: Mutant): Promise<string | undefined> {
    this.#mutant = mutant;
    const { outputFiles } = await (await this.#context).rebuild();
    for (const { title, run } of collectTests(outputFiles[0]!.text)) {
      try {
        await run();
      } catch {
        return title;
      }
    }
    return undefined;
  }

  async close(): Promise<void> {
    await (await this.#context).dispose();
  }

  /** Applies the mutant, and runs the tests at a small scale. */
  #createPlugin(): Plugin {
    return {
      name: 'mutant',
      setup: ({ onLoad }) => {
        onLoad({ filter: /[\\/]support[\\/]scale\.ts$/ }, () => ({
          contents: 'export const pickByScale = (quick) => Math.ceil(quick / 2);',
        }));
        onLoad({ filter: /[\\/]core[\\/]src[\\/]machine[\\/][a-z-]+\.ts$/ }, ({ path }) =>
          this.#mutant && path === join(MACHINE_FOLDER, this.#mutant.file)
            ? { contents: applyMutant(this.#mutant), loader: 'ts' }
            : undefined,
        );
      },
    };
  }
}

function testFilesOf(suite: Suite): string[] {
  if (suite === 'model')
    return ['machine.property', 'exhaustive'].map((name) => join(MODEL_FOLDER, `${name}.test.ts`));
  const machineTests = readdirSync(MACHINE_FOLDER).filter((file) => file.endsWith('.test.ts'));
  return [
    ...machineTests.map((file) => join(MACHINE_FOLDER, file)),
    join(MODEL_FOLDER, 'mutants/edge-cases.test.ts'),
  ];
}

/** Returns the tests that `script` declares, without running them. */
function collectTests(script: string): TestCase[] {
  const cases: TestCase[] = [];
  const titles: string[] = [];
  const it = (title: string, run: () => unknown): void => {
    cases.push({ title: [...titles, title].join(' '), run });
  };
  const each =
    (rows: readonly unknown[]) =>
    (title: string, run: (...row: unknown[]) => unknown): void => {
      for (const row of rows) it(title, () => run(...(Array.isArray(row) ? (row as unknown[]) : [row])));
    };
  const describe = (title: string, declare: () => void): void => {
    titles.push(title);
    declare();
    titles.pop();
  };
  const modules: Record<string, unknown> = {
    vitest: { ...vitest, describe, it: Object.assign(it, { each }) },
    'fast-check': fastCheck,
  };
  const run = compileFunction(script, ['require', 'module', 'exports']) as (
    require: (name: string) => unknown,
    module: object,
    exports: object,
  ) => void;
  run((name) => modules[name], {}, {});
  return cases;
}
