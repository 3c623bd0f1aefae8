import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { pickByScale } from '../../../../test/support/scale.ts';
import { openNativeImages } from '../../../../test/support/native-images.ts';
import { openNpmRegistry, type FixturePackage } from '../../../../test/support/npm-registry.ts';
import type { ImageRecord } from '../record.ts';

const OPTIONS = { timeout: 300_000 };

/** A package whose install script is a Node.js program. */
const packageWithScript = (
  name: string,
  source: string,
  manifest: Record<string, unknown> = {},
): FixturePackage => ({
  name,
  files: { 'index.js': "module.exports = require('./report.json');", 'script.js': source },
  manifest: { scripts: { install: 'node script.js' }, ...manifest },
});

const WRITE_REPORT = "require('node:fs').writeFileSync('report.json', JSON.stringify(report));";

/** Declares the required part of Node-API, because headers may be missing. */
const ADDON = `
  typedef void *env; typedef void *value;
  int napi_create_uint32(env, unsigned, value *);
  value napi_register_module_v1(env e, value exports) { value v; napi_create_uint32(e, 42, &v); return v; }`;

const otherServer = createServer((_request, response) => response.end('outside'));
await new Promise<void>((resolve) => otherServer.listen(0, '127.0.0.1', resolve));
const otherPort = (otherServer.address() as AddressInfo).port;

const registry = await openNpmRegistry([
  { name: 'prebuilt', files: { 'addon.txt': 'from the registry' } },
  packageWithScript(
    'writes-report',
    `const report = { uid: process.getuid(), cwd: process.cwd(), home: process.env.HOME, secrets: JSON.stringify(process.env).includes('oken') };
     ${WRITE_REPORT}`,
  ),
  packageWithScript(
    'fetches',
    `const report = {};
     const request = (url) => new Promise((resolve) => require('node:http').get(url, (response) => {
       let size = 0; response.on('data', (data) => (size += data.length)).on('end', () => resolve([response.statusCode, size > 0]));
     }).on('error', (error) => resolve([error.code])));
     (async () => {
       const registryUrl = process.env.npm_config_registry;
       report.registry = await request(registryUrl.replace(/\\/$/, '') + '/prebuilt/-/prebuilt-1.0.0.tgz');
       report.outside = (await request('http://127.0.0.1:${otherPort}/'))[0];
       report.direct = await new Promise((resolve) => require('node:net').connect(${otherPort}, '127.0.0.1', () => resolve('connected')).on('error', (error) => resolve(error.code)));
       ${WRITE_REPORT}
     })();`,
  ),
  packageWithScript(
    'attacks',
    `const fs = require('node:fs');
     const attempt = (act) => { try { act(); return 'done'; } catch (error) { return error.code; } };
     const report = {
       system: attempt(() => fs.writeFileSync('/usr/bin/evil', '')),
       node: attempt(() => fs.writeFileSync(process.execPath, '')),
       host: attempt(() => fs.readFileSync(${JSON.stringify(import.meta.filename)})),
       host_process: attempt(() => process.kill(${process.pid}, 0)),
       setuid: attempt(() => { fs.writeFileSync('run', ''); fs.chmodSync('run', 0o4755); }),
     };
     ${WRITE_REPORT}`,
  ),
  packageWithScript('fails', "console.error('cannot find the library frobnicate'); process.exit(3);"),
  packageWithScript('links-outside', "require('node:fs').symlinkSync('/etc/shadow', 'report.json');"),
  {
    name: 'has-optional',
    files: { 'index.js': "module.exports = 'without';" },
    manifest: { optionalDependencies: { fails: '*' } },
  },
  {
    name: 'compiles',
    files: { 'index.js': "module.exports = require('./addon.node');", 'addon.c': ADDON },
    manifest: { scripts: { install: 'cc -shared -fPIC -o addon.node addon.c' } },
  },
]);

const images = await openNativeImages({ npm: registry.url });

afterAll(async () => {
  await images?.close();
  registry.close();
  otherServer.close();
});

describe.skipIf(images === undefined)('install scripts of packages in a native image', OPTIONS, () => {
  /** Builds an image of packages, even if there is one already. */
  const build = (dependencies: readonly string[], systemPackages: readonly string[] = ['jq']) =>
    images!.build({ language: 'javascript', dependencies, systemPackages }, { refresh: true });

  let sharedBuild: Promise<ImageRecord> | undefined;
  /** One image for all packages with successful scripts, because building one takes a long time. */
  const buildShared = (): Promise<ImageRecord> =>
    (sharedBuild ??= build(['writes-report', 'fetches', 'attacks', 'has-optional']));

  /** Returns the report that a package's script wrote, and the package's folder. */
  async function reportOf(name: string): Promise<{ report: unknown; folder: string }> {
    const record = await buildShared();
    expect(record.errorMessage).toBe(null);
    const { blobs } = await images!.open(record.id);
    const folder = join(blobs['rootfs']!.path, 'opt/heddle/node_modules', name);
    return { folder, report: JSON.parse(readFileSync(join(folder, 'report.json'), 'utf8')) };
  }

  it('run as nobody, and their files are in the image', async () => {
    const { report } = await reportOf('writes-report');
    expect(report).toEqual({
      uid: 65_534,
      cwd: '/opt/heddle/node_modules/writes-report',
      home: '/work',
      secrets: false,
    });
  });

  it('can access only the registry', async () => {
    expect((await reportOf('fetches')).report).toEqual({
      registry: [200, true],
      outside: 403,
      direct: 'ECONNREFUSED',
    });
  });

  it('change only their packages, and leave no setuid files', async () => {
    const { report, folder } = await reportOf('attacks');
    expect(report).toEqual({
      system: 'EROFS',
      node: expect.stringMatching(/EROFS|EACCES|ETXTBSY/) as string,
      host: 'ENOENT',
      host_process: 'ESRCH',
      setuid: 'done',
    });
    expect(existsSync(join(folder, '../../../../usr/bin/evil'))).toBe(false);
    const { mode } = statSync(join(folder, 'run'));
    expect((mode & 0o7777).toString(8)).toBe('755');
  });

  it('fail the build if they fail, with the package and the reason in the message', async () => {
    expect(await build(['fails'])).toMatchObject({
      state: 'failed',
      errorCode: 'unsupported_package',
      errorMessage: expect.stringMatching(
        /^The package fails needs its install script, which failed: cannot find the library frobnicate\..*systemPackages/,
      ) as string,
    });
  });

  it('of optional packages may fail', async () => {
    expect((await buildShared()).warnings).toContainEqual(
      expect.stringMatching(/^The package fails .* It is optional and was not installed\.$/),
    );
  });

  it('fail the build if they leave a link to a file outside of their package', async () => {
    expect(await build(['links-outside'])).toMatchObject({
      errorCode: 'unsupported_package',
      errorMessage: expect.stringMatching(/link that leads out/) as string,
    });
  });

  it('compile addons if the image has a compiler, and otherwise fail and name what is missing', async () => {
    expect(await build(['compiles'])).toMatchObject({
      errorCode: 'unsupported_package',
      errorMessage: expect.stringMatching(
        /The package compiles needs its install script.*cc.*not found/,
      ) as string,
    });
    if (pickByScale(0, 1) === 0) return;
    expect(await build(['compiles'], ['gcc', 'libc6-dev'])).toMatchObject({
      state: 'ready',
      errorMessage: null,
    });
  });
});
