import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import type { LoadedImage } from '../images/source.ts';
import { resolveLimits } from '../limits.ts';
import { Job, type Ending } from './job.ts';
import { Pool } from './pool.ts';

/** A process that answers each job with its own number. */
const SERVES = `
const usage = { stdout: '', cpuMs: 0, wallMs: 0, late: false, next: 0, rssMiB: 1 };
process.on('message', ({ t, id }) => {
  if (t === 'boot') process.send({ t: 'ready', snapshot: null });
  if (t === 'run') process.send({ t: 'done', id, code: 'OK', text: String(id), ...usage });
});
process.on('disconnect', () => process.exit(0));`;
/** One that ends before it is ready. */
const FAILS = 'process.exit(3);';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

/** A pool with room for one process; those of the image `broken` do not start. */
function poolWithBrokenImage(): { pool: Pool; starts: string[] } {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-starts-'));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  const [serves, fails] = [join(folder, 'serves.cjs'), join(folder, 'fails.cjs')];
  writeFileSync(serves, SERVES);
  writeFileSync(fails, FAILS);
  const starts: string[] = [];
  const program = (image: LoadedImage | null) => {
    starts.push(image?.id ?? '-');
    const file = image?.id === 'broken' ? fails : serves;
    return { file, args: [], readable: [], flags: [], dataMiB: 512 };
  };
  const pool = new Pool({
    execPath: process.execPath,
    confinement: () => ({
      level: 'basic',
      tools: { bubblewrap: null, setpriv: null, prlimit: null },
      uids: null,
    }),
    program,
    memoryMiB: 64,
    startTimeoutMs: 60_000,
    maxProcesses: 1,
    minProcesses: 0,
    pipeline: 4,
    maxJobsPerProcess: 64,
    keyOf: () => '',
    idleMs: 60_000,
    queueTimeoutMs: 60_000,
    maxQueued: 100,
    maxQueuedPerTenant: 100,
    recycle: { jobs: 100, ageMs: 600_000, rssMiB: 512 },
    call: () => Promise.reject(new Error('These processes make no calls.')),
  });
  cleanups.push(() => pool.close());
  return { pool, starts };
}

/** What comes of a job: a failure's code and message, or its text. */
function send(pool: Pool, image: string | null): Promise<string> {
  const spec = { runId: 'r', tenant: 't', mode: 'function', kind: 'function', args: [] } as const;
  const loaded = image === null ? null : ({ id: image } as LoadedImage);
  return new Promise((resolve) => {
    const tell = (ending: Ending): void =>
      resolve('done' in ending ? ending.done.text : `${ending.failure.code}: ${ending.failure.message}`);
    pool.submit(new Job({ ...spec, limits: resolveLimits(), image: loaded }, tell));
  });
}

it('jobs of an image whose processes do not start fail after three tries, and no others of their tenant', async () => {
  const { pool, starts } = poolWithBrokenImage();
  const jobs = ['broken', null, 'broken', 'sound'].map((image) => send(pool, image));
  const failed = 'SANDBOX_UNAVAILABLE: Sandbox processes do not start (exit code 3).';
  expect(await Promise.all(jobs)).toEqual([failed, '1', failed, '1']);
  expect(starts.filter((image) => image === 'broken')).toHaveLength(3);
});
