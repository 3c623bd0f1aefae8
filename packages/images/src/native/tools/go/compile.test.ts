import { spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chmodSync, cpSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { ImageBlob } from '@heddle/sandbox';
import { JAIL_PATHS, NativeHost } from '@heddle/sandbox/build';
import { findBubblewrap } from '../../../../../../test/support/bubblewrap.ts';
import {
  openTestGoProxy,
  formatGoSum,
  pinOf,
  type FixtureModule,
  type GoProxy,
} from '../../../../../../test/support/go-proxy.ts';
import {
  createFakeBuilder,
  createImageFolder,
  openImages,
  IMAGE_SPEC,
} from '../../../../../../test/support/images.ts';
import { createSharedFolder } from '../../../../../../test/support/native-images.ts';
import { sample } from '../../../../../../test/support/scale.ts';
import type { BuildContext } from '../../../builder.ts';
import { createImages } from '../../../images.ts';
import type { GoInstall, GoSource } from '../recipe.ts';
import { findOrCompilePrograms } from './compile.ts';
import { readGoSettings } from './settings.ts';
import { findOrFetchToolchain, toolchainOfHost } from './toolchain.ts';

const bubblewrapPath = process.platform === 'linux' ? findBubblewrap() : undefined;
const isolation = bubblewrapPath === undefined ? {} : { bubblewrap: bubblewrapPath };
const host = new NativeHost(isolation, process.execPath);
const settings = readGoSettings({ env: process.env, home: homedir() });

/** Returns the toolchain, which is cached between test runs, or why it is not available. */
async function findToolchain(): Promise<ImageBlob | string> {
  if (bubblewrapPath === undefined) return 'there is no bubblewrap';
  const result: { blob?: ImageBlob } = {};
  const builder = createFakeBuilder({
    async resolve(_spec, context) {
      result.blob = await findOrFetchToolchain(toolchainOfHost(), context);
      return { entries: [], data: null };
    },
  });
  const images = createImages({
    ...{ folder: createSharedFolder(), builders: { javascript: builder }, registries: { go: settings } },
  });
  const { errorCode, errorMessage } = await images.build(IMAGE_SPEC, { refresh: true });
  await images.close();
  if (errorCode !== null && errorCode !== 'registry_unavailable')
    throw new Error(`${errorCode}: ${errorMessage}`);
  return result.blob ?? errorMessage ?? 'no reason was given';
}

const toolchain = await findToolchain();

interface Fixtures {
  readonly main: FixtureModule;
  /** Further modules on the proxy. */
  readonly otherModules?: readonly FixtureModule[];
  /** Modules in sibling folders. */
  readonly siblingModules?: readonly (FixtureModule & { readonly folder: string })[];
  readonly variables?: Readonly<Record<string, string>>;
  readonly intercept?: GoProxy['intercept'];
}

/** Returns a proxy that has only fixtures, and a function that builds the program `tool` of a module with it. */
async function prepareBuild({
  main,
  otherModules = [],
  siblingModules = [],
  variables = {},
  intercept,
}: Fixtures) {
  const proxy = await openTestGoProxy([main, ...otherModules, ...siblingModules]);
  if (intercept !== undefined) proxy.intercept = intercept;
  const createSource = (module: FixtureModule, folder: string): GoSource => ({ ...pinOf(module), folder });
  const install: GoInstall = {
    from: 'go',
    modules: [
      createSource(main, 'main'),
      ...siblingModules.map((module) => createSource(module, module.folder)),
    ],
    programs: { tool: './cmd/tool' },
    variables,
    publisherFile: { from: 'download', format: 'binary', programs: {} },
  };
  const folder = createImageFolder();
  chmodSync(folder, 0o755);
  const tool = join(folder, 'tool');
  const compile = async (context: BuildContext): Promise<void> => {
    chmodSync(context.workFolder, 0o711);
    const locked = { toolchain: toolchainOfHost(), modules: install.modules };
    const contextWithToolchain: BuildContext = {
      ...context,
      findOrMakeFolder: (name, make) =>
        name.startsWith('go-toolchain:')
          ? Promise.resolve(toolchain as ImageBlob)
          : context.findOrMakeFolder(name, make),
    };
    const { path: programs } = await findOrCompilePrograms(
      { id: 'tool', install, locked },
      { confinement: () => host.getConfinement() },
      contextWithToolchain,
    );
    cpSync(join(programs, 'tool'), tool);
  };
  const builder = createFakeBuilder({
    resolve: async (_spec, context) => (await compile(context), { entries: [], data: null }),
  });
  const images = openImages(
    { javascript: builder },
    { folder, registries: { go: { proxies: [proxy.url] } } },
  );
  return {
    proxy,
    /** Returns what the program prints, or how the build failed. */
    async build(): Promise<string> {
      const { errorCode, errorMessage, errorDetail } = await images.build(IMAGE_SPEC, { refresh: true });
      if (errorCode !== null) return `${errorCode}: ${errorMessage}\n${errorDetail}`;
      return spawnSync(tool, [], { encoding: 'utf8', env: {} }).stderr.trim();
    },
  };
}

/** The actual and the expected output of a compiled program. */
interface ProgramOutput {
  actual: string;
  expected: string;
}

const wordSource = (text: string): string => `package word\n\nconst Word = ${JSON.stringify(text)}\n`;
const MAIN = `package main

import "example.test/Word"

var version = "none"

func main() { println(version, word.Word) }
`;
const WORD: FixtureModule = { path: 'example.test/Word', files: { 'word.go': wordSource('said') } };
const GO_MOD = 'module example.test/tool\n\ngo 1.24\n\nrequire example.test/Word v1.0.0\n';
const toolModule = (files: Readonly<Record<string, string>>): FixtureModule => ({
  path: 'example.test/tool',
  files: { 'go.mod': GO_MOD, 'go.sum': formatGoSum(WORD), 'cmd/tool/main.go': MAIN, ...files },
});

describe.skipIf(typeof toolchain === 'string')(
  `compiling a Go tool${typeof toolchain === 'string' ? ` (skipped: ${toolchain})` : ''}`,
  () => {
    const OPTIONS = { timeout: 300_000 };

    const compileTwice = async (): Promise<ProgramOutput> => {
      // Different each time, because an existing program is not compiled again.
      const version = randomUUID();
      const { build, proxy } = await prepareBuild({
        main: toolModule({}),
        otherModules: [WORD],
        variables: { 'main.version': version },
      });
      expect(await build()).toBe(`${version} said`);
      const requestCount = proxy.requestPaths.length;
      const actual = await build();
      expect(proxy.requestPaths).toHaveLength(requestCount);
      return { actual, expected: `${version} said` };
    };

    const compileWithHostileSettings = async (): Promise<ProgramOutput> => {
      const evilCommand = `/usr/bin/env touch ${JAIL_PATHS.work}/home/evil`;
      const script = `${JAIL_PATHS.work}/src/main/evil.sh`;
      const { build } = await prepareBuild({
        main: toolModule({
          'go.mod': `${GO_MOD}\ntoolchain go1.99.0\n\ntool example.test/tool/cmd/tool\n\nreplace example.test/Word => ../sibling\n`,
          'go.env': `GOFLAGS=-toolexec=${script}\nCGO_ENABLED=1\nGOTOOLCHAIN=go1.99.0\n`,
          'cmd/tool/go.env': `GOFLAGS=-toolexec=${script}\n`,
          'go.work': 'go 1.99\n\nuse ./elsewhere\n',
          'evil.sh': `#!/bin/sh\n${evilCommand}\n`,
          'vendor/modules.txt': '# example.test/Word v1.0.0\nexample.test/Word\n',
          'vendor/example.test/Word/word.go': wordSource('vendored'),
          'cmd/tool/default.pgo': 'no profile',
          'cmd/tool/generate.go': `package main\n\n//go:generate ${evilCommand}\n`,
          'cmd/tool/cgo.go': `package main\n\n// #cgo CFLAGS: -fplugin=${JAIL_PATHS.work}/src/main/evil.so\n// #cgo pkg-config: --evil\n// int evil(void);\nimport "C"\n\nfunc init() { version = "C" }\n`,
        }),
        siblingModules: [
          {
            path: 'example.test/sibling',
            files: { 'go.mod': 'module example.test/Word\n\ngo 1.24\n', 'word.go': wordSource('sibling') },
            folder: 'sibling',
          },
        ],
        variables: { 'main.version': 'v1.2.3' },
      });
      return { actual: await build(), expected: 'v1.2.3 sibling' };
    };

    // Slow, because each compiles Go's standard library.
    const COMPILATIONS: [description: string, compile: () => Promise<ProgramOutput>][] = [
      ['happens once, from its module and those in go.sum, with linker variables', compileTwice],
      ['runs no code and uses no settings of its module', compileWithHostileSettings],
    ];
    it.each(sample(COMPILATIONS, 1, 'programs that are compiled with Go'))(
      '%s',
      OPTIONS,
      async (_description, compile) => {
        const { actual, expected } = await compile();
        expect(actual).toBe(expected);
      },
    );

    it('embeds no files from outside its module', OPTIONS, async () => {
      const mainSource = `package main\n\nimport _ "embed"\n\n//go:embed passwd\nvar text string\n\nfunc main() { println(text) }\n`;
      const { build } = await prepareBuild({
        main: toolModule({
          'cmd/tool/main.go': mainSource.replace('embed passwd', 'embed ../../../../../etc/passwd'),
        }),
      });
      expect(await build()).toMatch(/^install_failed: .*pattern .*passwd: invalid pattern syntax/);
    });

    const refuseWith =
      (status: number): GoProxy['intercept'] =>
      (request, response) => {
        const isWordRequest = request.url?.startsWith('/example.test/!word/') === true;
        if (isWordRequest) response.writeHead(status).end();
        return isWordRequest;
      };
    const FAILURES: [description: string, fixtures: Fixtures, message: RegExp][] = [
      [
        'integrity_error for a dependency that differs from go.sum',
        { main: toolModule({}), otherModules: [{ ...WORD, files: { 'word.go': wordSource('forged') } }] },
        /^integrity_error: The command-line tool tool could not be compiled: .* does not match its go\.sum.*example\.test\/Word/,
      ],
      [
        'integrity_error for a dependency that go.sum does not name',
        { main: toolModule({ 'go.sum': '' }), otherModules: [WORD] },
        /^integrity_error: .*go\.sum has no checksum for a module.*missing go\.sum entry/,
      ],
      [
        'package_not_found for a dependency that no proxy has',
        { main: toolModule({}) },
        /^package_not_found: .*example\.test\/!word/,
      ],
      [
        'rate_limited',
        { main: toolModule({}), intercept: refuseWith(429) },
        /^rate_limited: .*too many requests/,
      ],
      [
        'registry_unavailable',
        { main: toolModule({}), intercept: refuseWith(503) },
        /^registry_unavailable: .*responded with 503/,
      ],
      [
        'unsupported_package for a module that requires a later Go',
        { main: toolModule({ 'go.mod': GO_MOD.replace('1.24', '1.99') }), otherModules: [WORD] },
        /^unsupported_package: .*another version of Go.*requires go >= 1\.99/,
      ],
      [
        'install_failed with the message of Go for invalid code',
        {
          main: toolModule({ 'cmd/tool/main.go': 'package main\n\nfunc main() { nothing() }\n' }),
          otherModules: [WORD],
        },
        /^install_failed: .*cmd\/tool\/main\.go:3:\d+: undefined: nothing/,
      ],
    ];
    it.each(sample(FAILURES, 3, 'builds with Go that fail'))(
      'fails with %s',
      OPTIONS,
      async (_description, fixtures, message) => {
        expect(await (await prepareBuild(fixtures)).build()).toMatch(message);
      },
    );
  },
);
