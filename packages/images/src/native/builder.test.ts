import { chmodSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it, onTestFinished } from 'vitest';
import { findBubblewrap } from '../../../../test/support/bubblewrap.ts';
import { openTestDebianMirror, type FixtureDeb } from '../../../../test/support/debian-mirror.ts';
import { createImageFolder, openImages } from '../../../../test/support/images.ts';
import { openTestNpmRegistry, type FixturePackage } from '../../../../test/support/npm-registry.ts';
import { type IndexedWheel, openTestPythonIndex } from '../../../../test/support/python/python-index.ts';
import { findNpm } from '../javascript/npm-settings.ts';
import { CLI_TOOLS } from '../grammar.ts';
import type { ImageRecord } from '../record.ts';
import { nativeBuilder } from './builder.ts';
import { RECIPES } from './tools/recipes.ts';

const bubblewrapPath = process.platform === 'linux' ? findBubblewrap() : undefined;
const isolation = bubblewrapPath === undefined ? {} : { bubblewrap: bubblewrapPath };

/** The packages of every image; a test may replace them. */
const BASE_PACKAGES = [
  ...['mawk', 'base-files', 'bash', 'ca-certificates', 'coreutils', 'dash', 'debianutils'],
  ...['findutils', 'grep', 'gzip', 'libc-bin', 'libstdc++6', 'sed', 'tar', 'python3'],
];

function withBasePackages(debs: readonly FixtureDeb[]): FixtureDeb[] {
  const names = new Set(debs.map(({ name }) => name));
  return [...BASE_PACKAGES.filter((name) => !names.has(name)).map((name) => ({ name })), ...debs];
}

interface BuildSettings {
  /** Responses of the mirror that replace its files: path → content or status. */
  readonly responses?: Readonly<Record<string, Buffer | number>>;
  readonly keyring?: string;
  readonly mirror?: string;
  /** The index of Python packages. */
  readonly index?: string;
  /** The registry of npm packages. */
  readonly registry?: string;
  /** Replaces the specification with only the system packages. */
  readonly spec?: object;
  readonly buildTimeoutMs?: number;
}

/** Builds a native image from a mirror with these packages and the base packages. Returns its record. */
async function build(
  debs: readonly FixtureDeb[],
  systemPackages: readonly string[],
  { responses = {}, keyring, mirror, index, registry, spec, ...imageOptions }: BuildSettings = {},
): Promise<ImageRecord> {
  const { url } = await openTestDebianMirror(withBasePackages(debs), responses);
  const debian = { mirror: mirror ?? url, suite: 'stable', ...(keyring !== undefined && { keyring }) };
  const folder = createImageFolder();
  // Native jobs run under other user ids, which must be able to read this folder.
  chmodSync(folder, 0o755);
  const registries = {
    debian,
    ...(index !== undefined && { python: { index } }),
    ...(registry !== undefined && { npm: { registry, 'fetch-retries': '0' } }),
  };
  const native = nativeBuilder({ isolation, npm: findNpm(process.env['PATH']) });
  const images = openImages({ native }, { folder, registries, ...imageOptions });
  return images.build(spec ?? { language: 'javascript', systemPackages });
}

const failureOf = ({ errorCode, errorMessage }: ImageRecord) => ({ errorCode, errorMessage });
const expectedFailure = (errorCode: string, message: RegExp) => ({
  errorCode,
  errorMessage: expect.stringMatching(message) as string,
});

describe.skipIf(bubblewrapPath === undefined)('a failing build of a native image', () => {
  it.each<[string, readonly FixtureDeb[], readonly string[], RegExp]>([
    ['package_not_found', [], ['nope'], /no system package nope/],
    ['version_not_found', [{ name: 'jq', version: '1.6' }], ['jq=1.7'], /no version 1\.7 .* available: 1\.6/],
    [
      'resolution_conflict',
      [{ name: 'aa', fields: { Depends: 'gone (>= 2)' } }],
      ['aa'],
      /aa 1\.0 needs gone/,
    ],
    ['incompatible_platform', [{ name: 'aa' }], ['aa:s390x'], /for s390x/],
    [
      'integrity_error',
      [{ name: 'aa', servedBytes: Buffer.from('another') }],
      ['aa'],
      /does not match its expected digest/,
    ],
    [
      'unsupported_package',
      [{ name: 'aa', files: [{ path: '../../etc/evil', content: 'x' }] }],
      ['aa'],
      /The package aa 1\.0 has an entry named .* leads out of the archive/,
    ],
    [
      'unsupported_package',
      [{ name: 'aa', files: [{ path: './etc', type: '2', linkTarget: '/etc' }] }],
      ['aa'],
      /The image has etc, which is a folder of another package/,
    ],
    ['provider_error', [], ['sed'], /No process could be started in the image/],
  ])('reports %s', async (code, debs, systemPackages, message) => {
    expect(failureOf(await build(debs, systemPackages))).toEqual(expectedFailure(code, message));
  });

  it('reports registry_unavailable for a server that is not a mirror', async () => {
    const responses = { '/dists/stable/Release': 404 };
    expect(failureOf(await build([], ['sed'], { responses }))).toEqual(
      expectedFailure('registry_unavailable', /no Release/),
    );
  });

  it('reports registry_unavailable for a mirror that does not exist', async () => {
    expect(failureOf(await build([], ['sed'], { mirror: 'http://127.0.0.1:9' }))).toEqual(
      expectedFailure('registry_unavailable', /127\.0\.0\.1:9/),
    );
  });

  it.each([
    ['rate_limited', 429, /too many requests/],
    ['registry_unavailable', 503, /responded with 503/],
  ])('reports %s for a mirror that responds with %i', async (code, status, message) => {
    const responses = { '/dists/stable/InRelease': status };
    expect(failureOf(await build([], ['sed'], { responses }))).toEqual(expectedFailure(code, message));
  });

  it('reports build_timeout for a mirror that does not respond', async () => {
    const server = createServer(() => undefined);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => (server.closeAllConnections(), void server.close()));
    const mirror = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const record = await build([], ['sed'], { mirror, buildTimeoutMs: 300 });
    expect(failureOf(record)).toEqual(expectedFailure('build_timeout', /took more than/));
  });

  it.each<[code: string, description: string, wheel: IndexedWheel, dependency: string, message: RegExp]>([
    [
      'no_compatible_wheel',
      'wheels for other systems',
      { name: 'alpha', tags: 'cp311-cp311-win_amd64' },
      'alpha',
      /alpha 1\.0 has no wheel for Python 3\.11 on linux .*; its wheels are for win_amd64\. Request another release/,
    ],
    ['package_not_found', 'an unknown package', { name: 'alpha' }, 'ghost', /no Python package ghost/],
    ['version_not_found', 'an unknown version', { name: 'alpha' }, 'alpha>2', /the newest is 1\.0/],
    [
      'incompatible_platform',
      'another version of Python',
      { name: 'alpha', requiresPython: '<3.8' },
      'alpha',
      /supports Python 3\.11\.2: Python <3\.8 is required/,
    ],
    [
      'integrity_error',
      'a file that does not match its digest',
      { name: 'alpha', hasSeparateMetadata: true, hasWrongHash: true },
      'alpha',
      /does not match its expected digest/,
    ],
    [
      'unsupported_package',
      'a path outside the folder',
      { name: 'alpha', hasSeparateMetadata: true, entries: [{ path: '../evil.py' }] },
      'alpha',
      /evil/,
    ],
  ])('reports %s for Python packages: %s', async (code, _description, wheel, ...[dependency, message]) => {
    const { url: index } = await openTestPythonIndex([wheel]);
    const spec = { language: 'python', dependencies: [dependency], systemPackages: ['sed'] };
    const record = await build([{ name: 'python3', version: '3.11.2-1' }], [], { index, spec });
    expect(failureOf(record)).toEqual(expectedFailure(code, message));
  });

  it.each<[code: string, description: string, entry: FixturePackage, dependency: string, message: RegExp]>([
    ['package_not_found', 'an unknown package', { name: 'one' }, 'ghost', /ghost/],
    ['version_not_found', 'an unknown version', { name: 'one' }, 'one@^9', /one@\^9/],
    [
      'invalid_specifier',
      'a package from outside the registry',
      { name: 'one', manifest: { dependencies: { other: 'git+https://x.test/a.git' } } },
      'one',
      /registry/,
    ],
    [
      'incompatible_platform',
      'another operating system',
      { name: 'one', manifest: { os: ['aix'] } },
      'one',
      /one/,
    ],
    [
      'integrity_error',
      'a file that does not match its digest',
      { name: 'one', hasWrongHash: true },
      'one',
      /does not match/,
    ],
  ])('reports %s for npm packages: %s', async (code, _description, entry, ...[dependency, message]) => {
    const { url: registry } = await openTestNpmRegistry([entry]);
    const spec = { language: 'javascript', dependencies: [dependency], systemPackages: ['sed'] };
    expect(failureOf(await build([], [], { registry, spec }))).toEqual(expectedFailure(code, message));
  });

  it('reports integrity_error for an index that does not match its digest', async () => {
    const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
    const responses = {
      [`/dists/stable/main/binary-${architecture}/Packages.gz`]: Buffer.from('Package: evil\n'),
    };
    expect(failureOf(await build([], ['sed'], { responses }))).toEqual(
      expectedFailure('integrity_error', /Packages\.gz/),
    );
  });

  it('reports integrity_error if keys are configured and the archive is not signed', async () => {
    expect(failureOf(await build([], ['sed'], { keyring: '/nowhere.gpg' }))).toEqual(
      expectedFailure('integrity_error', /no signed release file/),
    );
  });

  it('reports unsupported_package for a tool without a checksum', async () => {
    const { url } = await openTestDebianMirror(withBasePackages([]));
    const registries = { debian: { mirror: url, suite: 'stable' } };
    const images = openImages({ native: nativeBuilder({ isolation }) }, { registries });
    const record = await images.build({ language: 'javascript', cliTools: ['terraform@1.15.8-r1'] });
    expect(failureOf(record)).toEqual(
      expectedFailure(
        'unsupported_package',
        /no checksum of https:\/\/releases\.hashicorp\.com\/.*terraform/,
      ),
    );
  });
});

describe('a build of a native image', () => {
  it('reports provider_error with the reason if the isolation level is too low', async () => {
    const native = nativeBuilder({ isolation: { level: 'basic' } });
    const images = openImages({ native }, { registries: { debian: { mirror: 'http://127.0.0.1:9' } } });
    const record = await images.build({ language: 'javascript', systemPackages: ['jq'] });
    expect(failureOf(record)).toEqual(expectedFailure('provider_error', /needs the isolation level strict/));
  });
});

describe('the recipes of command-line tools', () => {
  it('exist for each id of the catalogue', () => {
    expect(RECIPES.map(({ id }) => id).sort()).toEqual([...CLI_TOOLS].sort());
  });

  it('have the version and revision of their id', () => {
    expect(RECIPES.map(({ id, version, revision }) => [id, `${version}-r${revision}`])).toEqual(
      CLI_TOOLS.map((id) => [id, id.slice(id.indexOf('@') + 1)]),
    );
  });
});
