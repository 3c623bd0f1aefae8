import type { LoadedImage } from '../images/source.ts';
import type { ImageBoot } from '../protocol.ts';
import { launch, type LaunchOptions, type Program } from './launch.ts';
import { Slot, type Lane, type SlotEvents } from './slot.ts';

export interface StarterOptions extends LaunchOptions {
  readonly program: (image: LoadedImage | null) => Program;
  readonly memoryMiB: number;
  readonly startTimeoutMs: number;
  /** What a process gets of its image at its start, besides files. */
  readonly bootOf?: (image: LoadedImage) => ImageBoot | undefined;
}

/** Starts of a lane that fail in a row, after which its jobs do not wait for another. */
const MAX_FAILED_STARTS = 3;

/** Starts the processes of a pool. */
export class Starter {
  readonly #options: StarterOptions;
  /** What the first process without an image made for all after it. */
  #snapshot: Uint8Array | null = null;

  /** Starts that failed in a row, by lane: an image that does not start says nothing about others. */
  readonly #failed = new Map<string, number>();

  constructor(options: StarterOptions) {
    this.#options = options;
  }

  /**
   * A process on its way.
   * @throws SandboxError NOT_BUILT, SLOTS_EXHAUSTED.
   */
  start(lane: Lane, events: SlotEvents): Slot {
    const { memoryMiB, startTimeoutMs, program, bootOf } = this.#options;
    const image = lane.image === null ? undefined : bootOf?.(lane.image);
    const child = launch(this.#options, program(lane.image));
    const boot = { t: 'boot', snapshot: this.#snapshot, memoryMiB, ...(image && { image }) } as const;
    const slot = new Slot(lane, child, boot, events);
    slot.expectReady(startTimeoutMs);
    return slot;
  }

  /** Takes note of a process that is ready, and keeps what it made for those after it. */
  ready({ lane, image, snapshot }: Slot): void {
    this.#failed.delete(lane);
    // In others packages have run by now, whose authors must not write what processes of all tenants begin with.
    if (image === null) this.#snapshot ??= snapshot;
  }

  /** Takes note of a process that ended before it was ready; whether its lane is given up. */
  isGivenUp({ lane }: Pick<Lane, 'lane'>): boolean {
    const failed = (this.#failed.get(lane) ?? 0) + 1;
    this.#failed.delete(lane);
    if (failed >= MAX_FAILED_STARTS) return true;
    this.#failed.set(lane, failed);
    return false;
  }
}
