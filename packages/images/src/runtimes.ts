import type { ImageBuilder, ImageBuilders, ImageSpec } from './builder.ts';
import { ImageError } from './error.ts';
import { runtimeKey } from './keys.ts';
import type { SpecRow } from './image-index.ts';

type BuilderKind = keyof ImageBuilders;

/** A builder with the key of its runtime. */
export interface Runtime {
  readonly kind: BuilderKind;
  readonly builder: ImageBuilder;
  readonly key: string;
}

/** Returns a builder for a kind that this host does not support: every build fails with provider_error. */
function unsupportedBuilder(kind: BuilderKind): ImageBuilder {
  const refuse = (): never => {
    throw new ImageError('provider_error', `This host has no builder for ${kind} images.`);
  };
  return {
    runtime: kind === 'native' ? 'native' : 'isolate',
    runtimeKeyParts: async () => ({ absent: kind }),
    resolve: async () => refuse(),
    assemble: async () => refuse(),
  };
}

/** The builders by kind, with the keys of their runtimes, which are computed once. */
export class Runtimes {
  readonly #builders: ImageBuilders;
  readonly #runtimes = new Map<BuilderKind, Promise<Runtime>>();

  constructor(builders: ImageBuilders) {
    this.#builders = builders;
  }

  /** True if a build that fails for the isolate is retried natively. */
  get hasNativeBuilder(): boolean {
    return this.#builders.native !== undefined;
  }

  ofKind(kind: BuilderKind): Promise<Runtime> {
    let runtime = this.#runtimes.get(kind);
    if (runtime === undefined) this.#runtimes.set(kind, (runtime = this.#make(kind)));
    return runtime;
  }

  /** Returns the runtime of a specification's last successful build, otherwise the requested one. */
  ofSpec(row: Pick<SpecRow, 'spec' | 'builder'>): Promise<Runtime> {
    return this.ofKind((row.builder as BuilderKind | undefined) ?? kindOf(row.spec));
  }

  /** Returns the keys of all runtimes. */
  async keys(): Promise<string[]> {
    const runtimes = await Promise.all(
      (['javascript', 'python', 'native'] as const).map((kind) => this.ofKind(kind)),
    );
    return runtimes.map(({ key }) => key);
  }

  async #make(kind: BuilderKind): Promise<Runtime> {
    const builder = this.#builders[kind] ?? unsupportedBuilder(kind);
    return { kind, builder, key: runtimeKey({ kind, ...(await builder.runtimeKeyParts()) }) };
  }
}

function kindOf(spec: ImageSpec): BuilderKind {
  return spec.cliTools.length + spec.systemPackages.length > 0 ? 'native' : spec.language;
}
