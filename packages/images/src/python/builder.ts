import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { IsolationOptions } from '@heddle/sandbox';
import { PYTHON_FILES, PYTHON_IMAGE_FILE } from '@heddle/sandbox/build';
import type { AssembledImage, ImageBuilder } from '../builder.ts';
import { ImageError } from '../error.ts';
import { makeMemorySnapshot } from './build/memory-snapshot.ts';
import { makePackageArchive } from './build/package-archive.ts';
import { PythonLoader } from './build/python-loader.ts';
import { lockPythonPackages, readLockData } from './lock.ts';
import { parseRequirement } from './pep/requirement.ts';
import { type Distribution, targetOf } from './pep/target.ts';
import { withCredentials } from './sources/credentials.ts';
import type { PyodideWheelDigests } from './sources/pyodide.ts';

export interface PythonBuilderOptions {
  /** Confinement of the processes that load packages: the same options as `isolation` of `createSandbox`. */
  readonly isolation?: IsolationOptions;
}

/** The file that the build of @heddle/sandbox writes about its Pyodide distribution. */
interface BuiltDistribution extends Distribution {
  readonly version: string;
  readonly wheels: PyodideWheelDigests;
}

/** Builds images of Python packages for the isolate, from wheels. Package code runs only in the sandbox. */
export function pythonBuilder(options: PythonBuilderOptions = {}): ImageBuilder {
  const loader = new PythonLoader(options.isolation);
  return {
    runtime: 'isolate',

    async runtimeKeyParts() {
      const { version, python, abiVersion } = await readDistribution();
      return {
        pyodide: version,
        python,
        abi: abiVersion,
        // Node.js determines how V8 compiles the interpreter.
        node: process.versions.node,
        guest: await digestOf(join(PYTHON_FILES, 'guest.js')),
        imageFile: await digestOf(PYTHON_IMAGE_FILE),
      };
    },

    async resolve(spec, context) {
      const distribution = await readDistribution();
      const runtime = { target: targetOf(distribution), wheelDigests: distribution.wheels };
      return lockPythonPackages(spec, withCredentials(context), runtime);
    },

    async assemble(lock, spec, context): Promise<AssembledImage> {
      const { wheels, warnings } = readLockData(lock);
      const packageArchive = await makePackageArchive(wheels, loader, withCredentials(context));
      const names = spec.dependencies.flatMap((text) => parseRequirement(text)?.name ?? []);
      const importResult = await makeMemorySnapshot([...new Set(names)], packageArchive, loader, context);
      const { version, python } = await readDistribution();
      return {
        blobs: {
          'site.zip': packageArchive.path,
          ...(importResult.snapshotPath !== undefined && { 'memory.snap': importResult.snapshotPath }),
        },
        features: { snapshot: importResult.snapshotPath !== undefined, modules: importResult.modules },
        warnings: [...warnings, ...packageArchive.warnings, ...importResult.warnings],
        tools: { pyodide: version, python },
      };
    },
  };
}

async function readDistribution(): Promise<BuiltDistribution> {
  const path = join(PYTHON_FILES, 'distribution.json');
  if (!existsSync(path)) {
    throw new ImageError(
      'provider_error',
      'The Python interpreter is missing; run `npm run build` in @heddle/sandbox.',
    );
  }
  return JSON.parse(await readFile(path, 'utf8')) as BuiltDistribution;
}

async function digestOf(path: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(path))
    .digest('hex');
}
