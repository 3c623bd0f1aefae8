import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import type { LoadedImage } from '../image.ts';
import { resolveLimits } from '../limits.ts';
import { Job, type RawOutcome } from './job.ts';
import { Pool } from './pool.ts';
import { UNCONFINED } from '../../../../test/support/unconfined.ts';

/**
 * Program of a process that answers each job with the job's id and the process's initial snapshot. The process sends
 * a snapshot with the name of its image.
 */
const SERVING_PROGRAM = `
const usage = { stdout: '', cpuMs: 0, wallMs: 0, waitedForContext: false, next: 0, rssMiB: 1 };
const ownSnapshot = new Uint8Array(Buffer.from(process.argv[2]));
let initial;
process.on('message', ({ t, id, snapshot }) => {
  if (t === 'boot') {
    initial = snapshot === null ? 'nothing' : Buffer.from(snapshot).toString();
    process.send({ t: 'ready', snapshot: ownSnapshot });
  }
  if (t === 'run') process.send({ t: 'done', id, code: 'OK', text: id + ' ' + initial, ...usage });
});
process.on('disconnect', () => process.exit(0));`;
/** Program of a process that exits before it is ready, with output that only the host may see. */
const FAILING_PROGRAM = 'process.stderr.write("no /srv/secret/place", () => process.exit(3));';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** Collects the warnings of the host. */
function collectWarnings(): string[] {
  const messages: string[] = [];
  const onWarning = ({ message }: Error): void => void messages.push(message);
  process.on('warning', onWarning);
  cleanups.push(() => process.off('warning', onWarning));
  return messages;
}

/**
 * Creates a pool with at most one process. Processes of the image `broken` do not start, and the image `gone` lacks a
 * file.
 */
function createPool(): { pool: Pool; startedImages: string[] } {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-starts-'));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  const [servingFile, failingFile] = [join(folder, 'serves.cjs'), join(folder, 'fails.cjs')];
  writeFileSync(servingFile, SERVING_PROGRAM);
  writeFileSync(failingFile, FAILING_PROGRAM);
  const startedImages: string[] = [];
  const programOf = (image: LoadedImage | undefined) => {
    startedImages.push(image?.id ?? '-');
    const file = image?.id === 'broken' ? failingFile : servingFile;
    const files = Object.values(image?.blobs ?? {}).map(({ path }) => path);
    return { file, args: [image?.id ?? 'plain'], readablePaths: [], files, flags: [], dataMiB: 512 };
  };
  const pool = new Pool({
    execPath: process.execPath,
    getConfinement: () => UNCONFINED,
    programOf,
    memoryMiB: 64,
    startTimeoutMs: 60_000,
    maxProcesses: 1,
    minProcesses: 0,
    maxRunnableJobs: 4,
    maxJobsPerProcess: 64,
    isolateKeyOf: () => '',
    idleMs: 60_000,
    queueTimeoutMs: 60_000,
    maxQueued: 100,
    maxQueuedPerTenant: 100,
    recycle: { jobs: 100, ageMs: 600_000, rssMiB: 512 },
    handleHostCall: () => Promise.reject(new Error('These processes make no calls.')),
  });
  cleanups.push(() => pool.close());
  return { pool, startedImages };
}

/** Runs a job. Returns its text, or the code and message of its failure. */
function runJob(pool: Pool, image?: string): Promise<string> {
  const spec = { runId: 'r', tenant: 't', mode: 'function', kind: 'function', args: [] } as const;
  const blobs = image === 'gone' ? { 'site.zip': { path: '/srv/secret/gone', sha256: '', size: 1 } } : {};
  const loadedImage = image === undefined ? undefined : ({ id: image, blobs } as unknown as LoadedImage);
  return new Promise((resolve) => {
    const onEnd = (outcome: RawOutcome): void =>
      resolve('done' in outcome ? outcome.done.text : `${outcome.failure.code}: ${outcome.failure.message}`);
    pool.submit(new Job({ ...spec, limits: resolveLimits(), image: loadedImage }, onEnd));
  });
}

it('jobs of an image whose processes do not start fail after three attempts, without affecting others of their tenant', async () => {
  const { pool, startedImages } = createPool();
  const jobs = ['broken', undefined, 'broken', 'working'].map((image) => runJob(pool, image));
  const failureText = 'SANDBOX_UNAVAILABLE: Sandbox processes do not start (exit code 3).';
  expect(await Promise.all(jobs)).toEqual([
    failureText,
    '1 nothing',
    failureText,
    expect.stringMatching(/^1 /),
  ]);
  expect(startedImages.filter((image) => image === 'broken')).toHaveLength(3);
});

it('system errors of a process that does not start are reported to the host, and not to the job', async () => {
  const { pool } = createPool();
  const messages = collectWarnings();
  expect(await runJob(pool, 'gone')).toBe(
    'IMAGE_FAILED: A file of the image "gone" cannot be opened; build the image again.',
  );
  expect(await runJob(pool, 'broken')).not.toContain('secret');
  await expect
    .poll(() => messages)
    .toEqual([
      expect.stringContaining("open '/srv/secret/gone'"),
      ...Array.from(
        { length: 3 },
        () => 'A sandbox process did not start (exit code 3): no /srv/secret/place',
      ),
    ]);
});

it('processes start from the snapshot of a process without an image, never from one with packages', async () => {
  const { pool } = createPool();
  expect(await runJob(pool, 'one')).toBe('1 nothing');
  expect(await runJob(pool, 'two')).toBe('1 nothing');
  expect(await runJob(pool)).toBe('1 nothing');
  expect(await runJob(pool, 'three')).toBe('1 plain');
  expect(await runJob(pool)).toBe('1 plain');
});
