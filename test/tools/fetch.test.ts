import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { fetchTool, isInstalled, resolveTool } from './fetch.ts';
import type { Tool } from './tools.ts';

let folder = '';

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'heddle-fetch-'));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

const createEnv = (): Record<string, string> => ({
  PATH: `${folder}:/usr/bin:/bin`,
  XDG_CACHE_HOME: join(folder, 'cache'),
});

/** Creates the executable `name` on the PATH of these tests. */
function writeScript(name: string, body: string): void {
  writeFileSync(join(folder, name), `#!/bin/sh\n${body}\n`);
  chmodSync(join(folder, name), 0o755);
}

const createTool = (properties: Partial<Tool> = {}): Tool => ({
  command: 'loom',
  checkArgs: ['--check'],
  installMethods: [],
  ...properties,
});

describe('isInstalled', () => {
  it('is true for a tool on PATH, which is not started', () => {
    expect(isInstalled('loom', createTool(), createEnv())).toBe(false);
    writeScript('loom', `touch "${join(folder, 'started')}"`);
    expect(isInstalled('loom', createTool(), createEnv())).toBe(true);
    expect(existsSync(join(folder, 'started'))).toBe(false);
  });

  it('is true for a tool in the cache', () => {
    writeScript('go', 'mkdir -p "$GOBIN"; printf "#!/bin/sh\n" > "$GOBIN/loom"; chmod +x "$GOBIN/loom"');
    const tool = createTool({ installMethods: [{ go: 'heddle.test/loom@v1' }] });
    fetchTool('loom', tool, createEnv());
    expect(isInstalled('loom', tool, createEnv())).toBe(true);
  });
});

describe('fetchTool', () => {
  it('finds a tool on PATH', () => {
    writeScript('loom', 'test "$1" = --check');
    expect(fetchTool('loom', createTool(), createEnv()).tool?.path).toBe(join(folder, 'loom'));
  });

  it('reports why the tool on PATH does not work', () => {
    writeScript('loom', 'echo no threads >&2; exit 3');
    expect(fetchTool('loom', createTool(), createEnv())).toEqual({
      reason: expect.stringMatching(/PATH: .*3: no threads/),
    });
  });

  it('downloads Debian packages, unpacks them into the cache, and finds them there the next time', () => {
    writeScript('apt-get', 'test "$1" = download && echo "$2" > one.deb');
    writeScript(
      'dpkg-deb',
      'mkdir -p "$3/usr/bin" "$3/usr/lib/x86-linux-gnu" && cp "$(dirname "$0")/woven" "$3/usr/bin/loom"',
    );
    writeScript('woven', 'case "$LD_LIBRARY_PATH" in */usr/lib/x86-linux-gnu:*) exit 0;; esac; exit 1');
    const tool = createTool({ installMethods: [{ apt: ['loom'] }] });
    const firstResult = fetchTool('loom', tool, createEnv());
    expect(firstResult.tool?.path).toMatch(/heddle-tools\/.*\/loom\/usr\/bin\/loom$/);
    writeScript('apt-get', 'exit 1');
    expect(fetchTool('loom', tool, createEnv())).toEqual(firstResult);
  });

  it('finds a tool in a folder that is not on PATH', () => {
    writeScript('apt-get', 'echo > one.deb');
    writeScript('dpkg-deb', 'mkdir -p "$3/opt/loom/7" && cp "$(dirname "$0")/woven" "$3/opt/loom/7/loom"');
    writeScript('woven', 'exit 0');
    const tool = createTool({ installMethods: [{ apt: ['loom'] }], folders: ['opt/loom/8', 'opt/loom/7'] });
    expect(fetchTool('loom', tool, createEnv()).tool?.path).toMatch(/\/loom\/opt\/loom\/7\/loom$/);
    const systemTool = createTool({ folders: [folder.slice(1)] });
    writeScript('loom', 'exit 0');
    expect(fetchTool('loom', systemTool, { ...createEnv(), PATH: '/bin' }).tool?.path).toBe(
      join(folder, 'loom'),
    );
  });

  it('updates its own package lists if the machine has none', () => {
    writeScript(
      'apt-get',
      'case "$*" in download*lists=*) echo > one.deb;; update*lists=*) ;; *) exit 100;; esac',
    );
    writeScript(
      'dpkg-deb',
      'mkdir -p "$3/bin" && printf "#!/bin/sh\\n" > "$3/bin/loom" && chmod +x "$3/bin/loom"',
    );
    expect(
      fetchTool('loom', createTool({ installMethods: [{ apt: ['loom'] }] }), createEnv()).tool,
    ).toBeDefined();
  });

  it('downloads the dependencies of packages that the machine does not have, except the C library', () => {
    writeScript(
      'apt-get',
      `case "$1" in
        install) printf 'Inst loom (1)\\nInst libwarp [0] (2)\\nInst libc6 (3)\\nConf loom (1)\\n';;
        download) shift; for name; do echo > "$name.deb"; done;;
      esac`,
    );
    writeScript(
      'dpkg-deb',
      `case "$2" in
        *libc6.deb) exit 1;;
        *loom.deb) mkdir -p "$3/opt/loom" && cp "$(dirname "$0")/woven" "$3/opt/loom/loom-shell";;
        *libwarp.deb) mkdir -p "$3/usr/lib/x86-linux-gnu/warp" && echo > "$3/usr/lib/x86-linux-gnu/warp/libwarp.so.1";;
      esac`,
    );
    writeScript('woven', 'case "$LD_LIBRARY_PATH" in */usr/lib/x86-linux-gnu/warp:*) exit 0;; esac; exit 1');
    const installMethods = [{ apt: ['loom'], dependencies: true }];
    const tool = createTool({ installMethods, alternatives: ['loom-shell'], folders: ['opt/loom'] });
    expect(fetchTool('loom', tool, createEnv()).tool?.path).toMatch(/\/loom\/opt\/loom\/loom-shell$/);
  });

  it('tries the next install method, and installs a Go package into the cache', () => {
    writeScript('apt-get', 'exit 100');
    writeScript('go', 'mkdir -p "$GOBIN" && printf "#!/bin/sh\\n" > "$GOBIN/loom" && chmod +x "$GOBIN/loom"');
    const installMethods = [{ apt: ['loom'] }, { go: 'example.org/loom@v1.0.0' }];
    expect(fetchTool('loom', createTool({ installMethods }), createEnv()).tool?.path).toMatch(/\/bin\/loom$/);
  });

  it('installs a Python package into the cache, with a script that starts it', () => {
    const body = 'for last; do :; done; test "$last" = loom==1.0.0 || exec /bin/sh "$@"; mkdir -p "$7/bin"';
    writeScript('python3', `${body} && echo 'test "$1" = --check' > "$7/bin/loom"`);
    const { tool } = fetchTool('loom', createTool({ installMethods: [{ pip: 'loom==1.0.0' }] }), createEnv());
    expect(tool?.path).toMatch(/heddle-tools\/.*\/loom\/bin\/loom$/);
  });

  it('names every install method that was tried', () => {
    writeScript('apt-get', 'echo no such package >&2; exit 100');
    writeScript('go', 'echo no network >&2; exit 1');
    const installMethods = [{ apt: ['loom'] }, { go: 'example.org/loom@v1.0.0' }];
    expect(fetchTool('loom', createTool({ installMethods }), createEnv())).toEqual({
      reason: expect.stringMatching(
        /^loom \(loom\) is not on PATH\. apt-get .*no such package; go .*no network$/,
      ),
    });
  });
});

describe('resolveTool', () => {
  const tools = { absent: { command: 'heddle-absent-tool', checkArgs: [], installMethods: [] } };

  it('prints the reason why the tests of an absent tool are skipped', () => {
    const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
    vi.stubEnv('HEDDLE_REQUIRE', 'other');
    expect(resolveTool('absent', tools)).toBeUndefined();
    expect(write).toHaveBeenCalledWith(expect.stringContaining('Tests skipped: absent (heddle-absent-tool)'));
  });

  it('throws if HEDDLE_REQUIRE names the absent tool', () => {
    vi.stubEnv('HEDDLE_REQUIRE', 'other, absent');
    expect(() => resolveTool('absent', tools)).toThrow(/HEDDLE_REQUIRE names absent/);
  });

  it('throws if TOOLS has no tool with the name', () => {
    expect(() => resolveTool('lost', tools)).toThrow(/No tool "lost"/);
  });
});
