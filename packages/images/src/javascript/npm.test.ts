import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { levels } from '../../../../test/attacks/levels.ts';
import { createImageFolder } from '../../../../test/support/images.ts';
import { openTestNpmRegistry } from '../../../../test/support/npm-registry.ts';
import type { BuildContext } from '../builder.ts';
import { Npm } from './npm.ts';
import { findNpm, type NpmSettings } from './npm-settings.ts';

const SECRET = 'a-very-secret-token';
const MAX_SIZE = { files: 1_000, bytes: 20 * 2 ** 20 };
const strictLevel = levels.find(({ name }) => name === 'strict');

/** Creates a folder that every user can enter. */
function createFolder(): string {
  const folder = createImageFolder();
  chmodSync(folder, 0o755);
  return folder;
}

function createContext(npmSettings: NpmSettings, workFolder: string, signal = new AbortController().signal) {
  const lines: string[] = [];
  const refuse = () => Promise.reject(new Error('not used'));
  const context: BuildContext = {
    ...{
      workFolder,
      signal,
      registries: { npm: npmSettings },
      reportProgress: () => undefined,
      now: Date.now,
      updateMaximum: () => undefined,
    },
    log: (line) => void lines.push(line),
    ...{ fetchVerified: refuse, findOrMakeFolder: refuse, fetchPage: refuse },
  };
  return { context, lines };
}

/** Creates a stand-in for npm that behaves as a compromised npm would. */
function createHostileNpm(source: string): string {
  const folder = createFolder();
  mkdirSync(join(folder, 'bin'));
  const program = join(folder, 'bin', 'npm-cli.js');
  writeFileSync(
    program,
    `const report = {};\n(async () => {${source}})().then(() => done(), (e) => done(e));
    function done(error) {
      if (error) report.error = error.stack;
      console.error('REPORT ' + JSON.stringify(report));
      require('fs').writeFileSync('package-lock.json', '{}');
      process.exit(0);
    }`,
  );
  return program;
}

/** Runs a hostile npm in a build. Returns its report, the build's log lines and the project's folder. */
async function runHostileNpm(source: string, level: (typeof levels)[number], npmSettings: NpmSettings) {
  const { context, lines } = createContext(npmSettings, createFolder());
  const project = join(context.workFolder, 'project');
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{}');
  await new Npm(createHostileNpm(source), MAX_SIZE, level.options.isolation).run([], project, context);
  const report = /REPORT (.*)/.exec(lines.join('\n'))?.[1] ?? '{}';
  return { report: JSON.parse(report) as Record<string, unknown>, lines, project };
}

/** Starts a server that records requests. */
async function startServer(): Promise<{ port: number; requests: string[] }> {
  const requests: string[] = [];
  const server = createServer((request, response) => {
    requests.push(`${request.method} ${request.url} ${request.headers.authorization ?? 'anonymous'}`);
    response.end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, requests };
}

const STATUS_OF_SOURCE = `
  const statusOf = (url, options = {}) => new Promise((resolve) => {
    const request = require('http').request(url, options, (response) => (response.resume(), resolve(response.statusCode)));
    request.on('error', (error) => resolve(error.code));
    request.end();
  });`;

describe.each(levels)('npm in a build at the level $name', (level) => {
  it('has no credentials; the registry proxy adds them to its requests', async () => {
    const { port, requests } = await startServer();
    const npmSettings = {
      registry: `http://127.0.0.1:${port}/`,
      [`//127.0.0.1:${port}/:_authToken`]: SECRET,
    };
    const source = `${STATUS_OF_SOURCE}
      const fs = require('fs');
      report.status = await statusOf('http://127.0.0.1:${port}/one', { headers: { authorization: 'Bearer mine' } });
      report.env = process.env;
      report.files = fs.readdirSync(process.env.HOME).map((name) => fs.readFileSync(process.env.HOME + '/' + name, 'utf8'));`;
    const { report } = await runHostileNpm(source, level, npmSettings);
    expect(report).toMatchObject({ status: 200 });
    expect(JSON.stringify(report)).not.toContain(SECRET);
    expect(requests).toEqual([`GET /one Bearer ${SECRET}`]);
  });

  it('reaches only hosts in its settings through the registry proxy, and can only read from them', async () => {
    const registry = await startServer();
    const otherServer = await startServer();
    const source = `${STATUS_OF_SOURCE}
      report.other = await statusOf('http://127.0.0.1:${otherServer.port}/');
      report.metadata = await statusOf('http://169.254.169.254/latest/meta-data');
      report.put = await statusOf('http://127.0.0.1:${registry.port}/one', { method: 'PUT' });`;
    const { report } = await runHostileNpm(source, level, { registry: `http://127.0.0.1:${registry.port}/` });
    expect(report).toEqual({ other: 403, metadata: 403, put: 403 });
    expect([...registry.requests, ...otherServer.requests]).toEqual([]);
  });

  it('leaves only its packages and lockfile, owned by the host', async () => {
    const source = `
      const fs = require('fs');
      fs.mkdirSync('node_modules/a', { recursive: true });
      fs.writeFileSync('node_modules/a/run', '', { mode: 0o4777 });
      fs.writeFileSync('node_modules/a/read', '', { mode: 0o600 });
      fs.writeFileSync('elsewhere', '');`;
    const { project } = await runHostileNpm(source, level, {});
    const stat = (name: string) => statSync(join(project, 'node_modules/a', name));
    expect([stat('run').uid, stat('read').uid]).toEqual([process.geteuid!(), process.geteuid!()]);
    expect(existsSync(join(project, 'elsewhere'))).toBe(false);
  });

  it.each([
    ['a link in place of its lockfile', "fs.symlinkSync('/etc/passwd', 'package-lock.json')"],
    [
      'a link in place of its packages',
      "fs.writeFileSync('package-lock.json', '{}'); fs.symlinkSync('/etc', 'node_modules')",
    ],
  ])('is refused if it leaves %s', async (_description, statement) => {
    const program = createHostileNpm('');
    writeFileSync(program, `const fs = require('fs'); ${statement};`);
    const { context } = createContext({}, createFolder());
    const run = new Npm(program, MAX_SIZE, level.options.isolation).run([], context.workFolder, context);
    await expect(run).rejects.toMatchObject({ code: 'install_failed' });
  });

  it('ends with the reason when the build is aborted', async () => {
    const controller = new AbortController();
    const program = createHostileNpm('');
    writeFileSync(program, `console.error('begun'); setInterval(() => {}, 1000);`);
    const { context } = createContext({}, createFolder(), controller.signal);
    const run = new Npm(program, MAX_SIZE, level.options.isolation).run([], context.workFolder, context);
    setTimeout(() => controller.abort(new Error('enough')), 500);
    await expect(run).rejects.toThrow('enough');
  });

  it('fails with registry_unavailable and the URL of a registry that cannot be reached', async () => {
    const { context } = createContext(
      { registry: 'http://127.0.0.1:9/', 'fetch-retries': '0' },
      createFolder(),
    );
    const project = join(context.workFolder, 'project');
    mkdirSync(project);
    writeFileSync(join(project, 'package.json'), '{"dependencies":{"one":"1"}}');
    const npm = new Npm(findNpm(process.env['PATH']), MAX_SIZE, level.options.isolation);
    await expect(npm.run(['install', '--package-lock-only'], project, context)).rejects.toMatchObject({
      code: 'registry_unavailable',
      message: expect.stringMatching(/127\.0\.0\.1:9/) as string,
    });
  });

  it('follows registry redirects for tarballs without credentials', async () => {
    const registry = await openTestNpmRegistry([{ name: 'one', files: { 'index.js': '' } }]);
    const host = registry.url.replace('http:', '');
    const targetServer = await startServer();
    registry.intercept = (request, response) => {
      if (request.url?.endsWith('.tgz') !== true) return false;
      response.writeHead(302, { location: `http://127.0.0.1:${targetServer.port}/one.tgz` }).end();
      return true;
    };
    const targetSetting = { [`//127.0.0.1:${targetServer.port}/:always-auth`]: 'false' };
    const settings = {
      registry: registry.url,
      [`${host}/:_authToken`]: SECRET,
      'fetch-retries': '0',
      ...targetSetting,
    };
    const { context } = createContext(settings, createFolder());
    const project = join(context.workFolder, 'project');
    mkdirSync(project);
    writeFileSync(join(project, 'package.json'), '{"dependencies":{"one":"1"}}');
    const npm = new Npm(findNpm(process.env['PATH']), MAX_SIZE, level.options.isolation);
    // The file at the redirect target has different content.
    await expect(npm.run(['install'], project, context)).rejects.toMatchObject({ code: 'integrity_error' });
    expect(new Set(targetServer.requests)).toEqual(new Set(['GET /one.tgz anonymous']));
    expect([...registry.authorizationHeaders]).toEqual([`Bearer ${SECRET}`]);
  });
});

describe.skipIf(strictLevel === undefined)('the sandbox of npm', () => {
  it('exposes nothing of the host (files, users, processes, network), and lets npm start no processes', async () => {
    const { port, requests } = await startServer();
    const source = `
      const fs = require('fs');
      const attempt = (act) => { try { return act() ?? 'done'; } catch (error) { return error.code; } };
      report.root = fs.readdirSync('/').sort();
      report.passwd = attempt(() => fs.readFileSync('/etc/passwd', 'utf8'));
      report.parent = attempt(() => process.kill(${process.pid}, 0));
      report.shell = attempt(() => { const { error } = require('child_process').spawnSync('/proc/self/exe', ['-v']); throw error; });
      report.system = attempt(() => fs.writeFileSync('/usr/local/bin/node', ''));
      report.npm = attempt(() => fs.writeFileSync(process.argv[1], ''));
      report.uid = process.getuid();
      report.direct = await new Promise((resolve) => {
        const socket = require('net').connect(${port}, '127.0.0.1', () => resolve('connected'));
        socket.on('error', (error) => resolve(error.code));
      });
      report.names = await new Promise((resolve) => require('dns').lookup('registry.npmjs.org', (error) => resolve(error?.code)));
      report.interfaces = Object.keys(require('os').networkInterfaces());`;
    const { report } = await runHostileNpm(source, strictLevel!, { registry: `http://127.0.0.1:${port}/` });
    expect(report).toEqual({
      root: ['dev', 'lib', 'lib64', 'opt', 'proc', 'run', 'tmp', 'usr', 'work'].filter(
        (name) => !name.startsWith('lib') || (report['root'] as string[]).includes(name),
      ),
      passwd: 'ENOENT',
      parent: 'ESRCH',
      shell: 'EPERM',
      system: expect.stringMatching(/EROFS|EACCES|ETXTBSY/) as string,
      npm: expect.stringMatching(/EROFS|EACCES/) as string,
      uid: 65_534,
      direct: 'ECONNREFUSED',
      names: expect.stringMatching(/EAI_AGAIN|ENOTFOUND/) as string,
      interfaces: ['lo'],
    });
    expect(requests).toEqual([]);
  });

  it('limits the size of the files that npm writes', async () => {
    const source = `
      const fs = require('fs');
      const file = fs.openSync('large', 'w');
      process.on('SIGXFSZ', () => {});
      try { for (let index = 0; index < 200; index++) fs.writeSync(file, Buffer.alloc(2 ** 20)); } catch (error) { report.large = error.code; }
      report.bytes = fs.statSync('large').size;
      fs.rmSync('large');`;
    const { report } = await runHostileNpm(source, strictLevel!, {});
    expect(report).toMatchObject({ large: 'EFBIG', bytes: 84 * 2 ** 20 });
  });
});
