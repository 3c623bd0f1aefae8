import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readAptSettings } from './apt-settings.ts';
import { archivesOf } from './archives.ts';

function createAptFolder(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-apt-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 'sources.list.d'));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  return folder;
}

describe('the archives of a host', () => {
  it('are the Debian entries of its sources', () => {
    const folder = createAptFolder({
      'sources.list.d/a.sources':
        'Types: deb\nURIs: https://deb.vendor.test/node\nSuites: stable\nComponents: main\n',
      'sources.list.d/debian.sources':
        '# comment\nTypes: deb\nURIs: http://mirror.test/debian\nSuites: trixie trixie-updates\nComponents: main contrib\nSigned-By: /nowhere.gpg\n\nTypes: deb\nURIs: http://mirror.test/debian-security\nSuites: trixie-security\nComponents: main\n',
    });
    expect(readAptSettings(folder)).toEqual({
      mirror: 'http://mirror.test/debian',
      suite: 'trixie',
      security: 'http://mirror.test/debian-security',
    });
  });

  it('are also read from one-line sources', () => {
    const folder = createAptFolder({
      'sources.list':
        '# deb http://old.test/debian sid main\ndeb [arch=amd64] https://mirror.test/debian/ bookworm main # x\n',
    });
    expect(readAptSettings(folder)).toMatchObject({
      mirror: 'https://mirror.test/debian/',
      suite: 'bookworm',
    });
  });

  it.each([
    ['sources.list', 'deb [check-valid-until=no] https://snapshot.test/debian bookworm main\n'],
    [
      'sources.list.d/a.sources',
      'Types: deb\nURIs: https://snapshot.test/debian\nSuites: bookworm\nComponents: main\nCheck-Valid-Until: no\n',
    ],
  ])('are a snapshot if apt accepts expired release files: %s', (name, text) => {
    const settings = readAptSettings(createAptFolder({ [name]: text }));
    expect(settings).toMatchObject({ snapshot: true });
    expect(archivesOf(settings).map(({ isSnapshot }) => isSnapshot)).toEqual([true]);
    expect(archivesOf().map(({ isSnapshot }) => isSnapshot)).toEqual([false, false]);
  });

  it('are undefined on hosts with another distribution', () => {
    expect(
      readAptSettings(createAptFolder({ 'sources.list': 'deb https://archive.test/ubuntu noble main\n' })),
    ).toBeUndefined();
  });

  it("default to Debian's own, with its security archive", () => {
    expect(archivesOf().map(({ mirrorUrl, suite }) => `${mirrorUrl} ${suite}`)).toEqual([
      'https://deb.debian.org/debian/ bookworm',
      'https://deb.debian.org/debian-security/ bookworm-security',
    ]);
  });

  it('must be signed if keys are configured', () => {
    const [archiveWithKeyring] = archivesOf({ mirror: 'https://mirror.test/debian', keyring: '/keys.gpg' });
    const [archiveWithoutKeyring] = archivesOf({ mirror: 'https://mirror.test/debian' });
    expect([
      archiveWithKeyring?.mustBeSigned,
      archiveWithKeyring?.keyring,
      archiveWithoutKeyring?.mustBeSigned,
    ]).toEqual([true, '/keys.gpg', false]);
  });
});
