import { chmodSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { bubblewrap } from '../../../../../test/support/bubblewrap.ts';
import { debianMirror, type FixtureDeb } from '../../../../../test/support/debian-mirror.ts';
import { imageFolder, openImages } from '../../../../../test/support/images.ts';
import { CLI_TOOLS } from '../cli-tools.ts';
import type { ImageRecord } from '../record.ts';
import { nativeBuilder } from './builder.ts';
import { RECIPES } from './tools/recipes.ts';

const path = process.platform === 'linux' ? bubblewrap() : undefined;
const isolation = path === undefined ? {} : { bubblewrap: path };

/** The names of the base, which every image asks for; those of a test come in their place. */
const BASE = [
  ...['mawk', 'base-files', 'bash', 'ca-certificates', 'coreutils', 'dash', 'debianutils'],
  ...['findutils', 'grep', 'gzip', 'libc-bin', 'libstdc++6', 'sed', 'tar', 'python3'],
];

function withBase(debs: readonly FixtureDeb[]): FixtureDeb[] {
  const named = new Set(debs.map(({ name }) => name));
  return [...BASE.filter((name) => !named.has(name)).map((name) => ({ name })), ...debs];
}

interface Setting {
  readonly more?: Readonly<Record<string, Buffer | number>>;
  readonly keyring?: string;
  readonly mirror?: string;
}

/** The record of a native image of system packages, where the mirror has the base and nothing else. */
async function build(
  debs: readonly FixtureDeb[],
  systemPackages: readonly string[],
  { more = {}, keyring, mirror }: Setting = {},
): Promise<ImageRecord> {
  const { url } = await debianMirror(withBase(debs), more);
  const debian = { mirror: mirror ?? url, suite: 'stable', ...(keyring !== undefined && { keyring }) };
  const folder = imageFolder();
  // Processes have users of their own, who have to get in.
  chmodSync(folder, 0o755);
  const images = openImages({ native: nativeBuilder({ isolation }) }, { folder, registries: { debian } });
  return images.build({ language: 'javascript', systemPackages });
}

const failureOf = ({ errorCode, errorMessage }: ImageRecord) => ({ errorCode, errorMessage });
const failure = (errorCode: string, message: RegExp) => ({
  errorCode,
  errorMessage: expect.stringMatching(message) as string,
});

describe.skipIf(path === undefined)('a build of a native image that fails', () => {
  it.each<[string, readonly FixtureDeb[], readonly string[], RegExp]>([
    ['package_not_found', [], ['nope'], /no system package nope/],
    ['version_not_found', [{ name: 'jq', version: '1.6' }], ['jq=1.7'], /no version 1\.7 .* there is 1\.6/],
    [
      'resolution_conflict',
      [{ name: 'aa', fields: { Depends: 'gone (>= 2)' } }],
      ['aa'],
      /aa 1\.0 needs gone/,
    ],
    ['incompatible_platform', [{ name: 'aa' }], ['aa:s390x'], /for s390x/],
    [
      'integrity_error',
      [{ name: 'aa', served: Buffer.from('another') }],
      ['aa'],
      /is not the one that was announced/,
    ],
    [
      'unsupported_package',
      [{ name: 'aa', files: [{ path: '../../etc/evil', content: 'x' }] }],
      ['aa'],
      /The package aa 1\.0 has the name .* leads out of it/,
    ],
    [
      'unsupported_package',
      [{ name: 'aa', files: [{ path: './etc', type: '2', link: '/etc' }] }],
      ['aa'],
      /The image has etc, which is a folder elsewhere/,
    ],
    ['provider_error', [], ['sed'], /No process could be started in the image/],
  ])('says %s', async (code, debs, systemPackages, message) => {
    expect(failureOf(await build(debs, systemPackages))).toEqual(failure(code, message));
  });

  it('says registry_unavailable of a mirror that is none', async () => {
    const more = { '/dists/stable/Release': 404 };
    expect(failureOf(await build([], ['sed'], { more }))).toEqual(
      failure('registry_unavailable', /no Release/),
    );
  });

  it('says registry_unavailable of a mirror that nobody is', async () => {
    expect(failureOf(await build([], ['sed'], { mirror: 'http://127.0.0.1:9' }))).toEqual(
      failure('registry_unavailable', /127\.0\.0\.1:9/),
    );
  });

  it('says integrity_error of an index that is not the announced one', async () => {
    const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
    const more = {
      [`/dists/stable/main/binary-${architecture}/Packages.gz`]: Buffer.from('Package: evil\n'),
    };
    expect(failureOf(await build([], ['sed'], { more }))).toEqual(failure('integrity_error', /Packages\.gz/));
  });

  it('says integrity_error where keys are configured and nothing is signed', async () => {
    expect(failureOf(await build([], ['sed'], { keyring: '/nowhere.gpg' }))).toEqual(
      failure('integrity_error', /no signed release file/),
    );
  });

  it('says unsupported_package of a tool whose file nobody vouches for', async () => {
    const { url } = await debianMirror(withBase([]));
    const registries = { debian: { mirror: url, suite: 'stable' } };
    const images = openImages({ native: nativeBuilder({ isolation }) }, { registries });
    const record = await images.build({ language: 'javascript', cliTools: ['terraform@1.15.8-r1'] });
    expect(failureOf(record)).toEqual(
      failure('unsupported_package', /no checksum of https:\/\/releases\.hashicorp\.com\/.*terraform/),
    );
  });
});

describe('a build of a native image', () => {
  it('says provider_error, and why, where the host does not confine far enough', async () => {
    const native = nativeBuilder({ isolation: { level: 'basic' } });
    const images = openImages({ native }, { registries: { debian: { mirror: 'http://127.0.0.1:9' } } });
    const record = await images.build({ language: 'javascript', systemPackages: ['jq'] });
    expect(failureOf(record)).toEqual(failure('provider_error', /needs the isolation level strict/));
  });
});

describe('the recipes of command-line tools', () => {
  it('are one for each id of the catalogue', () => {
    expect(RECIPES.map(({ id }) => id).sort()).toEqual([...CLI_TOOLS].sort());
  });

  it('say the version and the revision of their id', () => {
    expect(RECIPES.map(({ id, version, revision }) => [id, `${version}-r${revision}`])).toEqual(
      CLI_TOOLS.map((id) => [id, id.slice(id.indexOf('@') + 1)]),
    );
  });
});
