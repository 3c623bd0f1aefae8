import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { compileFunction } from 'node:vm';
import { context } from 'esbuild';
import type { BuildContext, Plugin } from 'esbuild';
import * as fastCheck from 'fast-check';
import * as vitest from 'vitest';
import type { Mutant } from './mutant.ts';

const MACHINE = fileURLToPath(new URL('../../../packages/core/src/machine/', import.meta.url));
const MODEL = fileURLToPath(new URL('..', import.meta.url));

/** The test suites that judge a machine: its own tests, and the tests of the model. */
export type Bench = 'rules' | 'model';

interface Case {
  title: string;
  run: () => unknown;
}

/** Returns the names of the machine's files. */
export function machineFiles(): string[] {
  return readdirSync(MACHINE).filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'));
}

/** Returns the text of `mutant.file` with the fault applied. Throws unless `mutant.from` occurs exactly once. */
export function mutated({ file, from, to, why }: Mutant): string {
  const text = readFileSync(join(MACHINE, file), 'utf8');
  const places = text.split(from).length - 1;
  if (places !== 1)
    throw new Error(`mutant "${why}" of ${file}: its text occurs ${places} times: ${from.trim()}`);
  return text.replace(from, () => to);
}

/** Judges machines by the tests of one bench, which are bundled once. Call `close` at the end. */
export class Judge {
  readonly #context: Promise<BuildContext<{ write: false }>>;
  #mutant: Mutant | undefined;

  constructor(bench: Bench) {
    this.#context = context({
      stdin: {
        contents: testsOf(bench)
          .map((file) => `import ${JSON.stringify(file)};`)
          .join('\n'),
        resolveDir: MODEL,
      },
      bundle: true,
      write: false,
      format: 'cjs',
      platform: 'node',
      target: 'node24',
      external: ['vitest', 'fast-check'],
      plugins: [this.#plugin()],
      logLevel: 'silent',
    });
  }

  /**
   * Returns the title of the first test that fails for a machine with the fault of `mutant`; undefined if none does.
   */
  async judge(mutant?: Mutant): Promise<string | undefined> {
    this.#mutant = mutant;
    const { outputFiles } = await (await this.#context).rebuild();
    for (const { title, run } of collect(outputFiles[0]!.text)) {
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

  /** Applies the fault, and runs the tests at a small scale. */
  #plugin(): Plugin {
    return {
      name: 'mutant',
      setup: ({ onLoad }) => {
        onLoad({ filter: /[\\/]support[\\/]scale\.ts$/ }, () => ({
          contents: 'export const scale = (quick) => Math.ceil(quick / 2);',
        }));
        onLoad({ filter: /[\\/]core[\\/]src[\\/]machine[\\/][a-z-]+\.ts$/ }, ({ path }) =>
          this.#mutant && path === join(MACHINE, this.#mutant.file)
            ? { contents: mutated(this.#mutant), loader: 'ts' }
            : undefined,
        );
      },
    };
  }
}

function testsOf(bench: Bench): string[] {
  if (bench === 'model')
    return ['machine.property', 'exhaustive'].map((name) => join(MODEL, `${name}.test.ts`));
  const own = readdirSync(MACHINE).filter((file) => file.endsWith('.test.ts'));
  return [...own.map((file) => join(MACHINE, file)), join(MODEL, 'mutants/plays.test.ts')];
}

/** Returns the tests that `script` declares, without running them. */
function collect(script: string): Case[] {
  const cases: Case[] = [];
  const above: string[] = [];
  const it = (title: string, run: () => unknown): void => {
    cases.push({ title: [...above, title].join(' '), run });
  };
  const each =
    (rows: readonly unknown[]) =>
    (title: string, run: (...row: unknown[]) => unknown): void => {
      for (const row of rows) it(title, () => run(...(Array.isArray(row) ? (row as unknown[]) : [row])));
    };
  const describe = (title: string, declare: () => void): void => {
    above.push(title);
    declare();
    above.pop();
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
