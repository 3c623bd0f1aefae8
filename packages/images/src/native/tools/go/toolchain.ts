import type { ImageBlob } from '@heddle/sandbox';
import type { BuildContext } from '../../../builder.ts';
import { ImageError } from '../../../error.ts';
import type { GoModule } from '../recipe.ts';
import { unpackModule } from './modules.ts';

/** The Go toolchains, by the architecture that they run on and compile for, with the checksums of their files. */
const TOOLCHAINS: Readonly<Partial<Record<NodeJS.Architecture, GoModule>>> = {
  x64: {
    path: 'golang.org/toolchain',
    version: 'v0.0.1-go1.26.8.linux-amd64',
    sum: 'h1:ZOmGe1OnfREDMIdb1Qi4G9JSuDPBLGExZMQ4nis1RXM=',
  },
  arm64: {
    path: 'golang.org/toolchain',
    version: 'v0.0.1-go1.26.8.linux-arm64',
    sum: 'h1:sYL/O6MqS68ML0kjsQ36WoYIpJqkw60TxizWUYUKQMc=',
  },
};

/**
 * Files needed to compile: the go command, compiler, assembler and linker, headers, and the standard library. No C, no
 * tests.
 */
const INCLUDED_FILES =
  /^(?:VERSION|LICENSE|bin\/go|pkg\/include\/.+|pkg\/tool\/[^/]+\/(?:asm|compile|link)|src\/(?!cmd\/).+)$/;
const EXCLUDED_FILES = /_test\.go$|\/testdata\//;
const EXECUTABLES = /^(?:bin|pkg\/tool)\//;

/** Part of the cache key of toolchains. Increment it if different files are included. */
const REVISION = 1;

/** Returns the toolchain for this machine. Throws ImageError incompatible_platform if there is none. */
export function toolchainOfHost(arch: NodeJS.Architecture = process.arch): GoModule {
  const toolchain = TOOLCHAINS[arch];
  if (toolchain !== undefined) return toolchain;
  throw new ImageError(
    'incompatible_platform',
    'Tools written in Go can only be compiled on x86-64 and ARM64.',
  );
}

/** Returns the folder of a toolchain in the store. */
export function findOrFetchToolchain(toolchain: GoModule, context: BuildContext): Promise<ImageBlob> {
  return context.findOrMakeFolder(`go-toolchain:${REVISION}:${toolchain.sum}`, async (folder) => {
    context.reportProgress(`fetching the Go toolchain ${toolchain.version}`);
    const includes = (path: string): boolean => INCLUDED_FILES.test(path) && !EXCLUDED_FILES.test(path);
    await unpackModule(
      toolchain,
      { folder, includes, isExecutable: (path) => EXECUTABLES.test(path) },
      context,
    );
  });
}
