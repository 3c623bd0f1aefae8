import { randomUUID } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { PythonReport } from '@heddle/sandbox/build';
import type { BuildContext } from '../../builder.ts';
import { ImageError } from '../../error.ts';
import type { LockedWheel } from '../lock.ts';
import { withArchive } from '../wheels/archive.ts';
import { unpackWheels } from '../wheels/fetch.ts';
import type { UnpackedWheels } from '../wheels/fetch.ts';
import { MAX_SITE_BYTES, MAX_FILES } from '../wheels/limits.ts';
import { type StoredFile, writeStoredZip } from '../wheels/stored-zip.ts';
import type { PythonLoader } from './python-loader.ts';

/** The packages of an image as one archive. */
export interface PackageArchive extends UnpackedWheels {
  readonly path: string;
}

/** Maximum size of the sources that one process compiles. */
const MAX_BATCH_BYTES = 4 * 2 ** 20;

/** Unpacks and compiles the locked wheels to an archive in the work folder. */
export async function makePackageArchive(
  wheels: readonly LockedWheel[],
  loader: PythonLoader,
  context: BuildContext,
): Promise<PackageArchive> {
  const { files, modules, warnings } = await unpack(wheels, context);
  context.reportProgress('compiling');
  const compiledFiles = await compile(files, loader, context);
  const path = join(context.workFolder, 'site.zip');
  await writeStoredZip(path, sortedFiles(compiledFiles));
  return { path, modules, warnings };
}

/**
 * Unpacks the files of all wheels. If several wheels have the same file, that of the last one in the list wins, and the
 * log reports it.
 */
async function unpack(
  wheels: readonly LockedWheel[],
  context: BuildContext,
): Promise<UnpackedWheels & { files: ReadonlyMap<string, Buffer> }> {
  const files = new Map<string, Buffer>();
  let totalBytes = 0;
  const unpackedWheels = await unpackWheels(wheels, context, {
    activity: 'fetching',
    onWheel: async ({ wheel, contents }) => {
      for (const [name, file] of contents.files) {
        const data = await file.read();
        const replacedFile = files.get(name);
        if (replacedFile && !replacedFile.equals(data))
          context.log(`${name} of ${wheel.name} replaces a file of another package`);
        totalBytes += data.byteLength - (replacedFile?.byteLength ?? 0);
        if (totalBytes > MAX_SITE_BYTES || files.size >= MAX_FILES) throw tooLargeError();
        files.set(name, data);
      }
    },
  });
  return { files, ...unpackedWheels };
}

function tooLargeError(): ImageError {
  return new ImageError(
    'image_too_large',
    `The packages have more than ${MAX_FILES} files or ${MAX_SITE_BYTES / 2 ** 20} MiB.`,
  );
}

/** Replaces sources with compiled files, which makes imports faster. */
async function compile(
  files: ReadonlyMap<string, Buffer>,
  loader: PythonLoader,
  context: BuildContext,
): Promise<Map<string, Buffer>> {
  const result = new Map(files);
  for (const sources of splitIntoBatches(files)) {
    const compiledFiles = await compileBatch(sources, loader, context);
    for (const [path, bytes] of compiledFiles) {
      // The process may only return files for the given sources.
      const sourcePath = path.slice(0, -1);
      if (sources.has(sourcePath) && result.delete(sourcePath)) result.set(path, bytes);
    }
  }
  return result;
}

/** Splits sources into batches that fit into the memory of one interpreter together with their compiled files. */
function* splitIntoBatches(files: ReadonlyMap<string, Buffer>): Generator<ReadonlyMap<string, Buffer>> {
  let batch = new Map<string, Buffer>();
  let batchBytes = 0;
  for (const [path, source] of files) {
    if (!path.endsWith('.py')) continue;
    if (batchBytes > 0 && batchBytes + source.byteLength > MAX_BATCH_BYTES) {
      yield batch;
      batch = new Map();
      batchBytes = 0;
    }
    batch.set(path, source);
    batchBytes += source.byteLength;
  }
  if (batchBytes > 0 || batch.size > 0) yield batch;
}

async function compileBatch(
  sources: ReadonlyMap<string, Buffer>,
  loader: PythonLoader,
  context: BuildContext,
): Promise<[string, Buffer][]> {
  const sourceArchive = join(context.workFolder, `sources-${randomUUID()}.zip`);
  await writeStoredZip(sourceArchive, sortedFiles(sources));
  const report = await loader.run({ t: 'compile' }, [sourceArchive], context.signal);
  if (report.t !== 'compiled') throw compileFailure(report);
  for (const path of report.uncompiled) context.log(`${path} does not compile; its source is kept`);
  const compiledArchive = join(context.workFolder, `compiled-${randomUUID()}.zip`);
  await writeFile(compiledArchive, report.archive);
  return withArchive(compiledArchive, async (compiledFiles) =>
    Promise.all(compiledFiles.map(async (file) => [file.path, await file.read()] as [string, Buffer])),
  );
}

function compileFailure(report: PythonReport): ImageError {
  if (report.t === 'limit')
    return new ImageError(
      'image_too_large',
      'The packages have more code than can be compiled within the limits of a run.',
    );
  const reason = report.t === 'failed' ? report.message : report.t;
  return new ImageError('provider_error', `The packages could not be compiled: ${reason}`);
}

/** Yields files in sorted order, so that equal files produce equal archives. */
async function* sortedFiles(files: ReadonlyMap<string, Buffer>): AsyncGenerator<StoredFile> {
  for (const path of [...files.keys()].sort()) yield { path, bytes: files.get(path) ?? Buffer.alloc(0) };
}
