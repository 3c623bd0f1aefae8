import type { LoadedImage } from '../image.ts';
import type { ImageBoot } from '../protocol.ts';
import { launch, type LaunchOptions, type Program } from './launch.ts';
import { Slot, type ProcessTarget, type SlotEvents } from './slot.ts';

export interface StarterOptions extends LaunchOptions {
  readonly program: (image: LoadedImage | null) => Program;
  readonly memoryMiB: number;
  readonly startTimeoutMs: number;
  /** What a process gets of its image at its start, besides files. */
  readonly bootOf?: (image: LoadedImage) => ImageBoot | undefined;
}

/** Failed starts in a row for one pool key, after which its waiting jobs fail. */
const MAX_FAILED_STARTS = 3;

/** Starts the processes of a pool. */
export class Starter {
  readonly #options: StarterOptions;
  /** What the first process without an image made for all after it. */
  #snapshot: Uint8Array | null = null;

  /** Failed starts in a row by pool key: an image that does not start says nothing about other images. */
  readonly #failed = new Map<string, number>();

  constructor(options: StarterOptions) {
    this.#options = options;
  }

  /**
   * A process on its way.
   * @throws SandboxError NOT_BUILT, SLOTS_EXHAUSTED.
   */
  start(target: ProcessTarget, events: SlotEvents): Slot {
    const { memoryMiB, startTimeoutMs, program, bootOf } = this.#options;
    const image = target.image === null ? undefined : bootOf?.(target.image);
    const child = launch(this.#options, program(target.image));
    const boot = { t: 'boot', snapshot: this.#snapshot, memoryMiB, ...(image && { image }) } as const;
    const slot = new Slot(target, child, boot, events);
    slot.expectReady(startTimeoutMs);
    return slot;
  }

  /** Takes note of a process that is ready, and keeps what it made for those after it. */
  ready({ poolKey, image, snapshot }: Slot): void {
    this.#failed.delete(poolKey);
    // In others packages have run by now, whose authors must not write what processes of all tenants begin with.
    if (image === null) this.#snapshot ??= snapshot;
  }

  /** Counts a process that ended before it was ready. Returns whether its pool key has failed too often. */
  isGivenUp({ poolKey }: Pick<ProcessTarget, 'poolKey'>): boolean {
    const failed = (this.#failed.get(poolKey) ?? 0) + 1;
    this.#failed.delete(poolKey);
    if (failed >= MAX_FAILED_STARTS) return true;
    this.#failed.set(poolKey, failed);
    return false;
  }
}
