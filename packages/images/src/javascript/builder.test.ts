import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { levels } from '../../../../test/attacks/levels.ts';
import { createImageFolder, openImages } from '../../../../test/support/images.ts';
import {
  openTestNpmRegistry,
  type FixturePackage,
  type NpmRegistry,
} from '../../../../test/support/npm-registry.ts';
import { sample } from '../../../../test/support/scale.ts';
import type { ImageErrorCode } from '../error.ts';
import type { ImageRecord } from '../record.ts';
import { javascriptBuilder, type JavaScriptBuilderOptions } from './builder.ts';
import { findNpm } from './npm-settings.ts';

const npm = findNpm(process.env['PATH']);
/** The highest isolation level of this machine. */
const isolation = levels.at(-1)?.options.isolation ?? {};

interface BuildSettings {
  readonly builder?: JavaScriptBuilderOptions;
  readonly npm?: Readonly<Record<string, string>>;
  readonly folder?: string;
  readonly buildTimeoutMs?: number;
  readonly maxImageMiB?: number;
}

function openImagesWith(registry: NpmRegistry, settings: BuildSettings = {}) {
  const { builder = {}, npm: npmOverrides = {}, ...imageOptions } = settings;
  const npmSettings = { registry: registry.url, 'fetch-retries': '0', ...npmOverrides };
  return openImages(
    { javascript: javascriptBuilder({ npm, isolation, ...builder }) },
    {
      registries: { npm: npmSettings },
      ...imageOptions,
    },
  );
}

/** Builds an image of the packages from a registry with only these. Returns its record. */
async function build(
  packages: readonly FixturePackage[],
  dependencies: string[],
  settings?: BuildSettings,
): Promise<ImageRecord> {
  const images = openImagesWith(await openTestNpmRegistry(packages), settings);
  return images.build({ language: 'javascript', dependencies });
}

async function expectFailure(
  record: Promise<ImageRecord>,
  code: ImageErrorCode,
  message: RegExp,
): Promise<ImageRecord> {
  const { errorCode, errorMessage } = await record;
  expect({ errorCode, errorMessage }).toEqual({
    errorCode: code,
    errorMessage: expect.stringMatching(message) as string,
  });
  return record;
}

const packageOf = (
  name: string,
  source: string,
  overrides: Partial<FixturePackage> = {},
): FixturePackage => ({
  name,
  files: { 'index.js': source },
  ...overrides,
});

describe('an image of npm packages', () => {
  it('is a snapshot if its packages do not use the clock, random numbers or the host while they load', async () => {
    const packages = [
      packageOf('left', "exports.value = require('right').value + 1;", {
        manifest: { dependencies: { right: '^1.0.0' } },
      }),
      packageOf('right', 'exports.value = 1;', { version: '1.2.0' }),
      packageOf('right', 'exports.value = 2;', { version: '2.0.0' }),
    ];
    const images = openImagesWith(await openTestNpmRegistry(packages));
    const record = await images.build({ language: 'javascript', dependencies: ['left'] });
    expect(record).toMatchObject({ state: 'ready', packages: ['left 1.0.0', 'right 1.2.0'], warnings: [] });
    const { blobs, features } = await images.open(record.id);
    expect(Object.keys(blobs)).toEqual(['bundle.js', 'snapshot.bin']);
    expect(features).toEqual({ snapshot: true, modules: ['left'] });
  });

  const IMPURE_PACKAGES: readonly (readonly [description: string, source: string])[] = [
    ['the clock', 'exports.at = Date.now();'],
    ['a new date', 'exports.at = new Date();'],
    ['random numbers', 'exports.seed = Math.random();'],
    ['cryptographic random numbers', 'exports.id = crypto.randomUUID();'],
    ['a timer', 'setTimeout(() => {}, 10);'],
  ];

  it.each(sample(IMPURE_PACKAGES, 1, 'packages that need a code cache'))(
    'has only a code cache if a package uses %s while it loads',
    async (_description, source) => {
      const images = openImagesWith(await openTestNpmRegistry([packageOf('impure', source)]));
      const record = await images.build({ language: 'javascript', dependencies: ['impure'] });
      expect(record).toMatchObject({ state: 'ready', errorMessage: null });
      expect(record.warnings).toEqual([expect.stringContaining('loaded for each run')]);
      expect(Object.keys((await images.open(record.id)).blobs)).toEqual(['bundle.js', 'code-cache.bin']);
    },
  );

  it('runs no install scripts, and warns about them', async () => {
    const folder = createImageFolder();
    const markerPath = join(folder, 'ran');
    const scripts = {
      preinstall: `echo > ${markerPath}`,
      install: `echo > ${markerPath}`,
      postinstall: `echo > ${markerPath}`,
    };
    const scriptedPackage = packageOf('scripted', '', { manifest: { scripts } });
    const record = await build([scriptedPackage], ['scripted'], { folder });
    expect(record).toMatchObject({ state: 'ready', warnings: ['Install scripts were not run: scripted.'] });
    expect(existsSync(markerPath)).toBe(false);
  });

  it("is built with its registry's credentials without revealing them", async () => {
    const registry = await openTestNpmRegistry([packageOf('private', '')]);
    const host = registry.url.replace('http:', '');
    const images = openImagesWith(registry, { npm: { [`${host}/:_authToken`]: 'a-very-secret-token' } });
    expect(await images.build({ language: 'javascript', dependencies: ['private'] })).toMatchObject({
      state: 'ready',
    });
    expect([...registry.authorizationHeaders]).toEqual(['Bearer a-very-secret-token']);
    const failedRecord = await images.build({ language: 'javascript', dependencies: ['ghost'] });
    expect(failedRecord.errorCode).toBe('package_not_found');
    expect(JSON.stringify(failedRecord)).not.toContain('a-very-secret-token');
  });

  it('unpacks no archive entry outside of its package', async () => {
    const folder = createImageFolder();
    const entries = [
      { path: 'package/../../../../../../escaped.js', content: 'bad' },
      { path: `${folder}/escaped.js`, content: 'bad' },
      { path: 'package/passwd', type: '2', link: '/etc/passwd' },
      { path: 'package/up', type: '2', link: '../../..' },
      { path: 'package/up/escaped.js', content: 'bad' },
    ] as const;
    const record = await build([packageOf('sly', 'exports.ok = true;', { entries })], ['sly'], { folder });
    expect(record.errorCode ?? 'ready').toMatch(/^(?:ready|unsupported_package|install_failed)$/);
    expect(existsSync(join(folder, 'escaped.js'))).toBe(false);
    expect(existsSync(join(folder, '..', 'escaped.js'))).toBe(false);
  });
});

const FAILURES: readonly (readonly [failure: string, test: () => Promise<void>])[] = [
  [
    'invalid_specifier if a package does not come from the registry',
    async () => {
      const createPackageWithDependency = (range: string): FixturePackage =>
        packageOf('needy', '', { manifest: { dependencies: { other: range } } });
      await expectFailure(
        build([createPackageWithDependency('git+https://example.com/a.git')], ['needy']),
        'invalid_specifier',
        /registry/,
      );
      await expectFailure(
        build([createPackageWithDependency('file:../../etc')], ['needy']),
        'invalid_specifier',
        /registry/,
      );
    },
  ],

  [
    'package_not_found for a package, and for a dependency of one',
    async () => {
      await expectFailure(build([], ['ghost']), 'package_not_found', /ghost/);
      const needyPackage = packageOf('needy', '', { manifest: { dependencies: { ghost: '1' } } });
      await expectFailure(build([needyPackage], ['needy']), 'package_not_found', /ghost/);
    },
  ],

  [
    'version_not_found',
    async () => {
      await expectFailure(build([packageOf('one', '')], ['one@^9']), 'version_not_found', /one@\^9/);
    },
  ],

  [
    'resolution_conflict',
    async () => {
      const packages = [
        packageOf('host', '', { version: '1.0.0' }),
        packageOf('host', '', { version: '2.0.0' }),
        packageOf('plugin', '', { manifest: { peerDependencies: { host: '^1.0.0' } } }),
      ];
      await expectFailure(build(packages, ['host@2', 'plugin']), 'resolution_conflict', /conflicting/);
      await expectFailure(
        build(packages, ['host@1', 'host@2']),
        'resolution_conflict',
        /host is listed twice/,
      );
    },
  ],

  [
    'incompatible_platform',
    async () => {
      const incompatiblePackage = packageOf('elsewhere', '', { manifest: { os: ['aix'] } });
      await expectFailure(build([incompatiblePackage], ['elsewhere']), 'incompatible_platform', /elsewhere/);
    },
  ],

  [
    'unsupported_package for packages that need files or native code',
    async () => {
      const fileReadingPackage = packageOf(
        'reads',
        "exports.text = require('node:fs').readFileSync('/etc/passwd');",
      );
      await expectFailure(
        build([fileReadingPackage], ['reads']),
        'unsupported_package',
        /reads cannot run.*fs\.readFileSync/,
      );
      const nativePackage = packageOf('native', "module.exports = require('./build/thing.node');", {
        files: {
          'index.js': "module.exports = require('./build/thing.node');",
          'build/thing.node': '\x7fELF',
        },
      });
      await expectFailure(build([nativePackage], ['native']), 'unsupported_package', /thing\.node/);
    },
  ],

  [
    'unsupported_package if an install script would have created a missing file',
    async () => {
      const packageWithInstallScript = packageOf('makes', "module.exports = require('./made.js');", {
        manifest: { scripts: { install: 'echo > made.js' } },
      });
      await expectFailure(
        build([packageWithInstallScript], ['makes']),
        'unsupported_package',
        /The package makes needs its install script, which runs only in native images.*made\.js/s,
      );
    },
  ],

  [
    'bundle_failed',
    async () => {
      await expectFailure(
        build([packageOf('broken', 'const = ;')], ['broken']),
        'bundle_failed',
        /broken\/index\.js:1/,
      );
      const packageWithMissingFile = packageOf('lost', "require('./nowhere.js');");
      await expectFailure(build([packageWithMissingFile], ['lost']), 'bundle_failed', /nowhere/);
    },
  ],

  [
    'load_failed if a package throws, loops or uses up its memory',
    async () => {
      const packages = [
        packageOf('throws', "throw new Error('no luck');"),
        packageOf('loops', 'for (;;);'),
        packageOf('eats', 'const all = []; for (;;) all.push(new Array(1000).fill(all.length));'),
      ];
      const limits = { builder: { limits: { cpuMs: 500, memoryMiB: 16 } } };
      await expectFailure(build(packages, ['throws']), 'load_failed', /throws cannot be loaded: no luck/);
      await expectFailure(build(packages, ['loops'], limits), 'load_failed', /more than 500 ms/);
      await expectFailure(build(packages, ['eats'], limits), 'load_failed', /more than 16 MiB/);
    },
  ],

  [
    'registry_unavailable',
    async () => {
      const unreachableRegistry = { npm: { registry: 'http://127.0.0.1:9' } };
      await expectFailure(build([], ['one'], unreachableRegistry), 'registry_unavailable', /registry/);
      const registry = await openTestNpmRegistry([]);
      registry.intercept = (_request, response) => (response.writeHead(503).end(), true);
      const record = openImagesWith(registry).build({ language: 'javascript', dependencies: ['one'] });
      await expectFailure(record, 'registry_unavailable', /registry/);
    },
  ],

  [
    'rate_limited',
    async () => {
      const registry = await openTestNpmRegistry([]);
      registry.intercept = (_request, response) => (response.writeHead(429).end(), true);
      const record = openImagesWith(registry).build({ language: 'javascript', dependencies: ['one'] });
      await expectFailure(record, 'rate_limited', /too many/);
    },
  ],

  [
    'integrity_error if a package does not match its digest',
    async () => {
      const forgedPackage = packageOf('forged', '', { hasWrongHash: true });
      await expectFailure(build([forgedPackage], ['forged']), 'integrity_error', /does not match/);
    },
  ],

  [
    'image_too_large for packages that unpack to more bytes or files than allowed',
    async () => {
      const largePackage = packageOf('bomb', '', {
        entries: [{ path: 'package/big', content: Buffer.alloc(4 * 2 ** 20) }],
      });
      const limits = { builder: { limits: { bytes: 2 ** 20 } } };
      await expectFailure(build([largePackage], ['bomb'], limits), 'image_too_large', /1 MiB/);
      const files = Object.fromEntries(Array.from({ length: 30 }, (_, index) => [`${index}.js`, '']));
      const packageWithManyFiles = packageOf('many', '', { files });
      await expectFailure(
        build([packageWithManyFiles], ['many'], { builder: { limits: { files: 20 } } }),
        'image_too_large',
        /20 files/,
      );
    },
  ],

  [
    'image_too_large above the maximum image size of the folder',
    async () => {
      const largePackage = packageOf('large', `exports.text = ${JSON.stringify('x'.repeat(2 * 2 ** 20))};`);
      await expectFailure(
        build([largePackage], ['large'], { maxImageMiB: 1 }),
        'image_too_large',
        /maximum is 1/,
      );
    },
  ],

  [
    'build_timeout if a registry never responds',
    async () => {
      const registry = await openTestNpmRegistry([]);
      registry.intercept = () => true;
      const record = openImagesWith(registry, { buildTimeoutMs: 1_500 }).build({
        language: 'javascript',
        dependencies: ['one'],
      });
      await expectFailure(record, 'build_timeout', /minute/);
    },
  ],

  [
    'install_failed for unknown errors of npm',
    async () => {
      const registry = await openTestNpmRegistry([]);
      registry.intercept = (_request, response) => (response.writeHead(418).end('{}'), true);
      const record = openImagesWith(registry).build({ language: 'javascript', dependencies: ['one'] });
      await expectFailure(record, 'install_failed', /.+/);
    },
  ],

  [
    'provider_error on a host without npm',
    async () => {
      await expectFailure(
        build([], ['one'], { builder: { npm: false } }),
        'provider_error',
        /npm was not found/,
      );
    },
  ],
];

describe('a build of npm packages', () => {
  it.each(sample(FAILURES, 4, 'failed builds of npm packages'))('fails with %s', async (_failure, test) => {
    expect.hasAssertions();
    await test();
  });
});
