import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { readJson, repositoryFolder } from './sources.ts';

interface Output {
  readonly bytes: number;
  readonly inputs: Readonly<Record<string, { readonly bytesInOutput: number }>>;
  readonly imports: readonly { readonly path: string; readonly kind: string; readonly external?: boolean }[];
}

/** What the CLI loads when it starts. */
interface StartupLoad {
  /** Bytes of JavaScript that are read before the first command is known. */
  readonly bytes: number;
  /** Every loaded module: sources by their path, modules outside the bundle by their name. */
  readonly modules: readonly string[];
}

const ENTRY = 'dist/index.js';

// Each of these takes tens of milliseconds, or starts a process or thread. A command loads it when it first needs it.
const HEAVY_MODULE = /@heddle\/(images|sandbox|temporal)|@temporalio|isolated-vm|node:sqlite|(^|\/)undici\//;

/** Returns the bytes and modules that the output `entry` loads, directly and through static imports. */
function startupLoadOf(outputs: Readonly<Record<string, Output>>, entry: string): StartupLoad {
  const files = new Set([entry]);
  const modules = new Set<string>();
  let bytes = 0;
  for (const file of files) {
    const output = outputs[file];
    if (!output) throw new Error(`${file} is not in the metadata of the bundle.`);
    bytes += output.bytes;
    for (const input of Object.keys(output.inputs)) modules.add(input);
    for (const { path, kind, external } of output.imports) {
      if (kind !== 'dynamic-import') (external ? modules : files).add(path);
    }
  }
  return { bytes, modules: [...modules] };
}

/** Returns the sources with bytes in the outputs. */
function sourcesIn(outputs: Readonly<Record<string, Output>>): string[] {
  return Object.values(outputs).flatMap(({ inputs }) =>
    Object.entries(inputs).flatMap(([source, { bytesInOutput }]) => (bytesInOutput > 0 ? [source] : [])),
  );
}

describe('the bundle of the CLI', () => {
  const { outputs } = readJson<{ outputs: Record<string, Output> }>('packages/cli/dist/meta.json');
  const startupLoad = startupLoadOf(outputs, ENTRY);

  it('loads no sandbox, database, network or SDK at startup', () => {
    expect(startupLoad.modules).toContain('src/main.ts');
    expect(startupLoad.modules.filter((module) => HEAVY_MODULE.test(module))).toEqual([]);
  });

  it('reads less than 90 kB at startup: the code of a command is a separate chunk', () => {
    // 39 kB of this are commander; a group of commands adds up to 7 kB.
    expect(startupLoad.bytes).toBeLessThan(90_000);
  });

  it('loads @heddle/blocks without zod, a second copy of @heddle/core or an SDK, until one of its blocks runs', async () => {
    const source =
      "import { registerHooks } from 'node:module'; const seen = []; registerHooks({ load(url, context, next) { seen.push(url); return next(url, context); } }); await import('@heddle/blocks'); process.stdout.write(JSON.stringify(seen));";
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', source], {
      cwd: repositoryFolder,
    });
    const urls = (JSON.parse(stdout) as string[]).filter((url) => url.startsWith('file:'));
    expect(urls.some((url) => url.endsWith('packages/blocks/dist/index.js'))).toBe(true);
    expect(urls.filter((url) => /zod|ai-sdk|validator/.test(url))).toEqual([]);
    expect(urls.length).toBeLessThan(15);
  });

  // `import * as z` is tree-shaken. `import { z }` would bundle the whole object, with half a megabyte of messages
  // in all languages.
  it('has only the English messages of zod', () => {
    const localeSources = sourcesIn(outputs).filter((source) => source.includes('zod/v4/locales/'));
    expect(localeSources.map((source) => source.replace(/.*\//, ''))).toEqual(['en.js']);
  });

  it('includes static imports in its startup load, but not dynamic imports', () => {
    const createOutput = (inputs: string[], imports: Output['imports']): Output => ({
      bytes: 10,
      inputs: Object.fromEntries(inputs.map((input) => [input, { bytesInOutput: 1 }])),
      imports,
    });
    const exampleOutputs = {
      a: createOutput(
        ['a.ts'],
        [
          { path: 'b', kind: 'import-statement' },
          { path: 'c', kind: 'dynamic-import' },
          { path: 'node:sqlite', kind: 'import-statement', external: true },
        ],
      ),
      b: createOutput(['b.ts'], []),
      c: createOutput(['c.ts'], []),
    };
    expect(startupLoadOf(exampleOutputs, 'a')).toEqual({
      bytes: 20,
      modules: ['a.ts', 'node:sqlite', 'b.ts'],
    });
  });
});
