import type { ImageBlob } from '@heddle/sandbox';
import type { BuildContext } from '../../../builder.ts';
import { ImageError } from '../../../error.ts';
import type { GoModule } from '../recipe.ts';
import { unpackModule } from './modules.ts';

/** The compiler that tools are made with, by the machine that it runs on and makes programs for. Sums are of the files themselves. */
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

/** What compiles: the command, the tools for Go's own language and its assembler, headers, the standard library. No C, no tests. */
const TAKEN =
  /^(?:VERSION|LICENSE|bin\/go|pkg\/include\/.+|pkg\/tool\/[^/]+\/(?:asm|compile|link)|src\/(?!cmd\/).+)$/;
const LEFT = /_test\.go$|\/testdata\//;
const RUN = /^(?:bin|pkg\/tool)\//;

/** Another number where something else is taken. */
const REVISION = 1;

/** The toolchain for this machine. Throws ImageError incompatible_platform where there is none. */
export function toolchainFor(arch: NodeJS.Architecture = process.arch): GoModule {
  const found = TOOLCHAINS[arch];
  if (found !== undefined) return found;
  throw new ImageError('incompatible_platform', 'Tools written in Go are made on x86-64 and ARM64 only.');
}

/** The folder of a toolchain, in the store. */
export function cachedToolchain(toolchain: GoModule, context: BuildContext): Promise<ImageBlob> {
  return context.kept(`go-toolchain:${REVISION}:${toolchain.sum}`, async (folder) => {
    context.progress(`fetching the Go toolchain ${toolchain.version}`);
    const takes = (path: string): boolean => TAKEN.test(path) && !LEFT.test(path);
    await unpackModule(toolchain, { folder, takes, runs: (path) => RUN.test(path) }, context);
  });
}
