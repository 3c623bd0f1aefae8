import { describe, expect, it, onTestFinished } from 'vitest';
import { debianMirror, type DebianMirror } from '../../../../../test/support/debian-mirror.ts';
import { imageFolder } from '../../../../../test/support/images.ts';
import { hasPgp, signer, type Signer } from '../../../../../test/support/pgp.ts';
import type { BuildContext, Registries } from '../../builder.ts';
import { Fetcher } from '../../fetcher.ts';
import { Records } from '../../records.ts';
import { readArchives } from './archive-index.ts';
import { archivesOf } from './archives.ts';
import { fetchRelease } from './release.ts';
import { join } from 'node:path';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW_MS = Date.UTC(2026, 4, 10, 12);

const dateOf = (ms: number): string => new Date(ms).toUTCString().replace('GMT', 'UTC');

/** A mirror whose release file is set by a test. */
class Bench {
  readonly mirror: DebianMirror;
  readonly #records: Records;
  readonly #plain: string;

  static async open(): Promise<Bench> {
    return new Bench(await debianMirror([{ name: 'aa' }]));
  }

  private constructor(mirror: DebianMirror) {
    this.mirror = mirror;
    this.#plain = String(mirror.routes.get('/dists/stable/Release'));
    this.#records = new Records(join(imageFolder(), 'images.db'));
    onTestFinished(() => this.#records.close());
  }

  /** Returns the release file with further fields. */
  text(fields: Readonly<Record<string, string>> = {}): string {
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\n`);
    return `${lines.join('')}${'Suite' in fields ? this.#plain.replace(/^Suite:.*\n/, '') : this.#plain}`;
  }

  serve(text: string, { sign }: Signer, change: (signed: string) => string = (signed) => signed): void {
    this.mirror.routes.set('/dists/stable/InRelease', Buffer.from(change(sign(text).toString())));
  }

  context(registries: Registries = {}, nowMs = NOW_MS): BuildContext {
    const debian = { mirror: this.mirror.url, suite: 'stable' };
    const fetcher = new Fetcher({ debian });
    onTestFinished(() => fetcher.close());
    const { signal } = new AbortController();
    const unused = () => Promise.reject(new Error('not used'));
    return {
      ...{ workFolder: imageFolder(), registries, signal, log: () => undefined, progress: () => undefined },
      ...{ now: () => nowMs, largest: (name, value) => this.#records.largest(name, value) },
      ...{ fetchVerified: unused, cachedFolder: unused },
      fetchPage: (url, options) => fetcher.page(url, options, signal),
    };
  }

  archive(keyring: string | undefined, snapshot = false) {
    const settings = { mirror: this.mirror.url, suite: 'stable', snapshot };
    return archivesOf({ ...settings, ...(keyring !== undefined && { keyring }) })[0]!;
  }

  release({ keyring }: { keyring?: string }, more: { snapshot?: boolean; nowMs?: number } = {}) {
    return fetchRelease(this.archive(keyring, more.snapshot), this.context({}, more.nowMs));
  }
}

const integrity = (message: RegExp) => ({
  code: 'integrity_error',
  message: expect.stringMatching(message) as string,
});

describe.skipIf(!hasPgp)('a signed release file', () => {
  it('is accepted if a key of the keyring signed it', async () => {
    const bench = await Bench.open();
    const key = signer('archive');
    bench.serve(bench.text({ Date: dateOf(NOW_MS - DAY_MS), 'Valid-Until': dateOf(NOW_MS + DAY_MS) }), key);
    const { files, warnings } = await bench.release(key);
    expect([...files.keys()]).toEqual([expect.stringMatching(/^main\/binary-.*\/Packages\.gz$/)]);
    expect(warnings).toEqual([]);
  });

  it('is refused with a signature of another key', async () => {
    const bench = await Bench.open();
    bench.serve(bench.text(), signer('somebody else'));
    await expect(bench.release(signer('archive'))).rejects.toMatchObject(
      integrity(/is not signed by a key of Debian: .*(?:public key|signature)/i),
    );
  });

  it('is refused if a digest was changed after it was signed', async () => {
    const bench = await Bench.open();
    const key = signer('archive');
    bench.serve(bench.text(), key, (signed) => signed.replace(/[0-9a-f]{64}/, 'f'.repeat(64)));
    await expect(bench.release(key)).rejects.toMatchObject(integrity(/BAD signature/));
  });

  it('is read from its signed part only', async () => {
    const bench = await Bench.open();
    const key = signer('archive');
    const evil = `SHA256:\n ${'f'.repeat(64)} 1 main/binary-evil/Packages\n`;
    bench.serve(bench.text(), key, (signed) => `${evil}\n${signed}\n${evil}`);
    const result = await bench.release(key).then(
      ({ files }) => [...files.values()],
      (error: { code: string }) => error.code,
    );
    expect(result).not.toContain('f'.repeat(64));
  });

  it('is refused when it has expired, unless the mirror is a snapshot', async () => {
    const bench = await Bench.open();
    const key = signer('archive');
    const expired = { Date: dateOf(NOW_MS - 9 * DAY_MS), 'Valid-Until': dateOf(NOW_MS - 2 * DAY_MS) };
    bench.serve(bench.text(expired), key);
    await expect(bench.release(key)).rejects.toMatchObject(
      integrity(/expired at 2026-05-08 12:00 UTC.*registries\.debian\.snapshot/),
    );
    expect((await bench.release(key, { snapshot: true })).files.size).toBe(1);
  });

  it('is refused if its date is in the future', async () => {
    const bench = await Bench.open();
    const key = signer('archive');
    bench.serve(bench.text({ Date: dateOf(NOW_MS + 2 * HOUR_MS) }), key);
    await expect(bench.release(key)).rejects.toMatchObject(integrity(/in the future.*clock/));
    await expect(bench.release(key, { snapshot: true })).rejects.toMatchObject(integrity(/in the future/));
    expect((await bench.release(key, { nowMs: NOW_MS + 2 * HOUR_MS })).files.size).toBe(1);
  });

  it('is refused if a newer one was seen before, beyond the tolerance', async () => {
    const bench = await Bench.open();
    const key = signer('archive');
    const serve = (daysAgo: number): void =>
      bench.serve(bench.text({ Date: dateOf(NOW_MS - daysAgo * DAY_MS) }), key);
    serve(2);
    await bench.release(key);
    serve(2.9);
    await bench.release(key);
    serve(4);
    await expect(bench.release(key)).rejects.toMatchObject(
      integrity(/is dated 2026-05-06 12:00 UTC, but one dated 2026-05-08 12:00 UTC was seen before/),
    );
    expect((await bench.release(key, { snapshot: true })).files.size).toBe(1);
    serve(1);
    expect((await bench.release(key)).files.size).toBe(1);
  });

  it('is refused if it belongs to another suite', async () => {
    const bench = await Bench.open();
    const key = signer('archive');
    bench.serve(bench.text({ Suite: 'oldstable', Codename: 'bullseye' }), key);
    await expect(bench.release(key)).rejects.toMatchObject(integrity(/is for oldstable, bullseye/));
    bench.serve(bench.text({ Suite: 'oldstable', Codename: 'stable' }), key);
    expect((await bench.release(key)).files.size).toBe(1);
  });

  it('is refused with an invalid date', async () => {
    const bench = await Bench.open();
    const key = signer('archive');
    bench.serve(bench.text({ 'Valid-Until': 'for ever' }), key);
    await expect(bench.release(key)).rejects.toMatchObject(integrity(/invalid date "for ever"/));
  });
});

describe('a release file', () => {
  it('that is unsigned does not affect the age check', async () => {
    const bench = await Bench.open();
    const serveUnsigned = (daysAgo: number) =>
      bench.mirror.routes.set(
        '/dists/stable/Release',
        Buffer.from(bench.text({ Date: dateOf(NOW_MS - daysAgo * DAY_MS) })),
      );
    serveUnsigned(0);
    const { warnings } = await bench.release({});
    expect(warnings).toEqual([
      expect.stringMatching(/used without a verified signature, because it has no signature/),
    ]);
    serveUnsigned(9);
    expect((await bench.release({})).files.size).toBe(1);
  });

  it('that is unsigned is refused if it has expired', async () => {
    const bench = await Bench.open();
    const text = bench.text({ 'Valid-Until': dateOf(NOW_MS - 1) });
    bench.mirror.routes.set('/dists/stable/Release', Buffer.from(text));
    await expect(bench.release({})).rejects.toMatchObject(integrity(/expired/));
  });

  it('without the requested component is registry_unavailable', async () => {
    const bench = await Bench.open();
    const text = bench.text().replaceAll('main/', 'contrib/');
    bench.mirror.routes.set('/dists/stable/Release', Buffer.from(text));
    await expect(readArchives([bench.archive(undefined)], bench.context())).rejects.toMatchObject({
      code: 'registry_unavailable',
      message: expect.stringMatching(/stable has no index main\/binary-/) as string,
    });
  });
});
