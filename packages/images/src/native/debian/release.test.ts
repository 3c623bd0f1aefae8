import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openTestDebianMirror, type DebianMirror } from '../../../../../test/support/debian-mirror.ts';
import { createImageFolder } from '../../../../../test/support/images.ts';
import type { BuildContext, Registries } from '../../builder.ts';
import { Fetcher } from '../../fetcher.ts';
import { ImageIndex } from '../../image-index.ts';
import { readArchives } from './archive-index.ts';
import { archivesOf } from './archives.ts';
import { fetchRelease } from './release.ts';

/** True if this machine has GnuPG, which signs texts and checks signatures. */
const hasGnupg = ['gpg', 'gpgv'].every((name) => spawnSync(name, ['--version']).status === 0);

/** A key that signs texts. The key is deleted after the test. */
interface Signer {
  /** The path of the file with the public key. */
  readonly keyring: string;
  /** Returns the clearsigned text. */
  sign(text: string): Buffer;
}

/** Creates a key with this name. */
function createSigner(name: string): Signer {
  // Not a data folder of the tests: this folder contains the socket of the GPG agent, and the path of a socket has a
  // maximum length.
  const gpgHome = mkdtempSync(join(tmpdir(), 'pgp-'));
  const gpg = (args: readonly string[], input = ''): Buffer =>
    execFileSync('gpg', ['--homedir', gpgHome, '--batch', '--quiet', '--passphrase', '', ...args], {
      input,
      stdio: ['pipe', 'pipe', 'ignore'],
    });
  onTestFinished(() => {
    spawnSync('gpgconf', ['--homedir', gpgHome, '--kill', 'all']);
    rmSync(gpgHome, { recursive: true, force: true });
  });
  gpg(['--pinentry-mode', 'loopback', '--quick-generate-key', name, 'ed25519', 'sign', 'never']);
  const keyring = join(gpgHome, 'public.gpg');
  writeFileSync(keyring, gpg(['--export', name]));
  return { keyring, sign: (text) => gpg(['--pinentry-mode', 'loopback', '--clearsign'], text) };
}

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const NOW_MS = Date.UTC(2026, 4, 10, 12);

const dateOf = (ms: number): string => new Date(ms).toUTCString().replace('GMT', 'UTC');

/** A mirror whose release file is set by a test. */
class TestMirror {
  readonly server: DebianMirror;
  readonly #imageIndex: ImageIndex;
  readonly #originalText: string;

  static async open(): Promise<TestMirror> {
    return new TestMirror(await openTestDebianMirror([{ name: 'aa' }]));
  }

  private constructor(server: DebianMirror) {
    this.server = server;
    this.#originalText = String(server.routes.get('/dists/stable/Release'));
    this.#imageIndex = new ImageIndex(join(createImageFolder(), 'images.db'));
    onTestFinished(() => this.#imageIndex.close());
  }

  /** Returns the release file with further fields. */
  releaseText(fields: Readonly<Record<string, string>> = {}): string {
    const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\n`);
    const originalText =
      'Suite' in fields ? this.#originalText.replace(/^Suite:.*\n/, '') : this.#originalText;
    return `${lines.join('')}${originalText}`;
  }

  serve(text: string, { sign }: Signer, change: (signed: string) => string = (signed) => signed): void {
    this.server.routes.set('/dists/stable/InRelease', Buffer.from(change(sign(text).toString())));
  }

  createContext(registries: Registries = {}, nowMs = NOW_MS): BuildContext {
    const debian = { mirror: this.server.url, suite: 'stable' };
    const fetcher = new Fetcher({ debian });
    onTestFinished(() => fetcher.close());
    const { signal } = new AbortController();
    const rejectUnused = () => Promise.reject(new Error('not used'));
    return {
      ...{
        workFolder: createImageFolder(),
        registries,
        signal,
        log: () => undefined,
        reportProgress: () => undefined,
      },
      ...{ now: () => nowMs, updateMaximum: (name, value) => this.#imageIndex.updateMaximum(name, value) },
      ...{ fetchVerified: rejectUnused, findOrMakeFolder: rejectUnused },
      fetchPage: (url, options) => fetcher.fetchPage(url, options, signal),
    };
  }

  archive(keyring: string | undefined, snapshot = false) {
    const settings = { mirror: this.server.url, suite: 'stable', snapshot };
    return archivesOf({ ...settings, ...(keyring !== undefined && { keyring }) })[0]!;
  }

  fetch({ keyring }: { keyring?: string }, options: { snapshot?: boolean; nowMs?: number } = {}) {
    return fetchRelease(this.archive(keyring, options.snapshot), this.createContext({}, options.nowMs));
  }
}

const integrityError = (message: RegExp) => ({
  code: 'integrity_error',
  message: expect.stringMatching(message) as string,
});

describe.skipIf(!hasGnupg)('a signed release file', () => {
  it('is accepted if a key of the keyring signed it', async () => {
    const mirror = await TestMirror.open();
    const key = createSigner('archive');
    const fields = { Date: dateOf(NOW_MS - DAY_MS), 'Valid-Until': dateOf(NOW_MS + DAY_MS) };
    mirror.serve(mirror.releaseText(fields), key);
    const { files, warnings } = await mirror.fetch(key);
    expect([...files.keys()]).toEqual([expect.stringMatching(/^main\/binary-.*\/Packages\.gz$/)]);
    expect(warnings).toEqual([]);
  });

  it('is refused with a signature by another key', async () => {
    const mirror = await TestMirror.open();
    mirror.serve(mirror.releaseText(), createSigner('somebody else'));
    await expect(mirror.fetch(createSigner('archive'))).rejects.toMatchObject(
      integrityError(/is not signed by a key of Debian: .*(?:public key|signature)/i),
    );
  });

  it('is refused if a digest was changed after it was signed', async () => {
    const mirror = await TestMirror.open();
    const key = createSigner('archive');
    mirror.serve(mirror.releaseText(), key, (signed) => signed.replace(/[0-9a-f]{64}/, 'f'.repeat(64)));
    await expect(mirror.fetch(key)).rejects.toMatchObject(integrityError(/BAD signature/));
  });

  it('is refused if it was changed, even if the archive need not be signed', async () => {
    const mirror = await TestMirror.open();
    const key = createSigner('archive');
    const archive = { ...mirror.archive(key.keyring), mustBeSigned: false };
    mirror.serve(mirror.releaseText(), key, (signed) => signed.replace(/[0-9a-f]{64}/, 'f'.repeat(64)));
    await expect(fetchRelease(archive, mirror.createContext({}))).rejects.toMatchObject(
      integrityError(/BAD signature/),
    );
    mirror.serve(mirror.releaseText(), createSigner('somebody else'));
    const { warnings } = await fetchRelease(archive, mirror.createContext({}));
    expect(warnings).toEqual([expect.stringContaining('it is signed by an unknown key')]);
  });

  it.each([true, false])(
    'is refused if the configured keyring does not exist; it must be signed: %s',
    async (mustBeSigned) => {
      const mirror = await TestMirror.open();
      mirror.serve(mirror.releaseText(), createSigner('archive'));
      const archive = { ...mirror.archive('/nonexistent/keys.gpg'), mustBeSigned };
      await expect(fetchRelease(archive, mirror.createContext({}))).rejects.toMatchObject(
        integrityError(/The keyring \/nonexistent\/keys\.gpg of the archive .* does not exist/),
      );
    },
  );

  it('is refused on a host without gpgv if the archive must be signed, and otherwise causes a warning', async () => {
    const mirror = await TestMirror.open();
    const key = createSigner('archive');
    mirror.serve(mirror.releaseText(), key);
    const archive = mirror.archive(key.keyring);
    const tools = { gpgv: undefined };
    const reason = 'because gpgv is not installed on this host (package gpgv)';
    await expect(fetchRelease(archive, mirror.createContext({}), tools)).rejects.toMatchObject({
      code: 'provider_error',
      message: `The signature of the archive ${new URL(mirror.server.url).host} stable cannot be verified, ${reason}.`,
    });
    const optionallySignedArchive = { ...archive, mustBeSigned: false };
    const { warnings } = await fetchRelease(optionallySignedArchive, mirror.createContext({}), tools);
    expect(warnings).toEqual([expect.stringContaining(reason)]);
  });

  it('is read from its signed part only', async () => {
    const mirror = await TestMirror.open();
    const key = createSigner('archive');
    const forgedDigests = `SHA256:\n ${'f'.repeat(64)} 1 main/binary-evil/Packages\n`;
    mirror.serve(mirror.releaseText(), key, (signed) => `${forgedDigests}\n${signed}\n${forgedDigests}`);
    const result = await mirror.fetch(key).then(
      ({ files }) => [...files.values()],
      (error: { code: string }) => error.code,
    );
    expect(result).not.toContain('f'.repeat(64));
  });

  it('is refused when it has expired, unless the mirror is a snapshot', async () => {
    const mirror = await TestMirror.open();
    const key = createSigner('archive');
    const expiredFields = { Date: dateOf(NOW_MS - 9 * DAY_MS), 'Valid-Until': dateOf(NOW_MS - 2 * DAY_MS) };
    mirror.serve(mirror.releaseText(expiredFields), key);
    await expect(mirror.fetch(key)).rejects.toMatchObject(
      integrityError(/expired at 2026-05-08 12:00 UTC.*registries\.debian\.snapshot/),
    );
    expect((await mirror.fetch(key, { snapshot: true })).files.size).toBe(1);
  });

  it('is refused if its date is in the future', async () => {
    const mirror = await TestMirror.open();
    const key = createSigner('archive');
    mirror.serve(mirror.releaseText({ Date: dateOf(NOW_MS + 2 * HOUR_MS) }), key);
    await expect(mirror.fetch(key)).rejects.toMatchObject(integrityError(/in the future.*clock/));
    await expect(mirror.fetch(key, { snapshot: true })).rejects.toMatchObject(
      integrityError(/in the future/),
    );
    expect((await mirror.fetch(key, { nowMs: NOW_MS + 2 * HOUR_MS })).files.size).toBe(1);
  });

  it('is refused if one that is newer by more than the tolerance was seen before', async () => {
    const mirror = await TestMirror.open();
    const key = createSigner('archive');
    const serve = (daysAgo: number): void =>
      mirror.serve(mirror.releaseText({ Date: dateOf(NOW_MS - daysAgo * DAY_MS) }), key);
    serve(2);
    await mirror.fetch(key);
    serve(2.9);
    await mirror.fetch(key);
    serve(4);
    await expect(mirror.fetch(key)).rejects.toMatchObject(
      integrityError(/is dated 2026-05-06 12:00 UTC, but one dated 2026-05-08 12:00 UTC was seen before/),
    );
    expect((await mirror.fetch(key, { snapshot: true })).files.size).toBe(1);
    serve(1);
    expect((await mirror.fetch(key)).files.size).toBe(1);
  });

  it('is refused if it belongs to another suite', async () => {
    const mirror = await TestMirror.open();
    const key = createSigner('archive');
    mirror.serve(mirror.releaseText({ Suite: 'oldstable', Codename: 'bullseye' }), key);
    await expect(mirror.fetch(key)).rejects.toMatchObject(integrityError(/is for oldstable, bullseye/));
    mirror.serve(mirror.releaseText({ Suite: 'oldstable', Codename: 'stable' }), key);
    expect((await mirror.fetch(key)).files.size).toBe(1);
  });

  it('is refused if it has an invalid date', async () => {
    const mirror = await TestMirror.open();
    const key = createSigner('archive');
    mirror.serve(mirror.releaseText({ 'Valid-Until': 'for ever' }), key);
    await expect(mirror.fetch(key)).rejects.toMatchObject(integrityError(/invalid date "for ever"/));
  });
});

describe('a release file', () => {
  it('that is unsigned does not make later files look outdated', async () => {
    const mirror = await TestMirror.open();
    const serveUnsigned = (daysAgo: number) =>
      mirror.server.routes.set(
        '/dists/stable/Release',
        Buffer.from(mirror.releaseText({ Date: dateOf(NOW_MS - daysAgo * DAY_MS) })),
      );
    serveUnsigned(0);
    const { warnings } = await mirror.fetch({});
    expect(warnings).toEqual([
      expect.stringMatching(/used without a verified signature, because it has no signature/),
    ]);
    serveUnsigned(9);
    expect((await mirror.fetch({})).files.size).toBe(1);
  });

  it('that is unsigned is refused if it has expired', async () => {
    const mirror = await TestMirror.open();
    const text = mirror.releaseText({ 'Valid-Until': dateOf(NOW_MS - 1) });
    mirror.server.routes.set('/dists/stable/Release', Buffer.from(text));
    await expect(mirror.fetch({})).rejects.toMatchObject(integrityError(/expired/));
  });

  it('without the requested component fails with registry_unavailable', async () => {
    const mirror = await TestMirror.open();
    const text = mirror.releaseText().replaceAll('main/', 'contrib/');
    mirror.server.routes.set('/dists/stable/Release', Buffer.from(text));
    await expect(readArchives([mirror.archive(undefined)], mirror.createContext())).rejects.toMatchObject({
      code: 'registry_unavailable',
      message: expect.stringMatching(/stable has no index main\/binary-/) as string,
    });
  });
});
