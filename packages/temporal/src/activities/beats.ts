import type { RuntimeParts, Timed } from '@heddle/engine/runtime';
import type { Stored } from '@heddle/core/run';
import type { Context } from '@temporalio/activity';
import { chunkOf } from '../chunk.ts';

/** So often the server is asked whether the work is still wanted: a cancel reaches a block within a second. */
const BEAT_MS = 400;

/**
 * The heartbeat of an activity: it brings word of a cancel, and keeps what has been done so far for whoever takes over
 * when this worker is lost. Entries travel like all values: a long list by reference.
 */
export class Beats {
  private readonly context: Context;
  private readonly values: RuntimeParts['values'];
  private readonly timer: NodeJS.Timeout;
  private entries: readonly Timed[] = [];
  private kept: { count: number; chunk: Stored } | undefined;
  private keeping = false;

  constructor(context: Context, { values }: Pick<RuntimeParts, 'values'>) {
    this.context = context;
    this.values = values;
    this.timer = setInterval(() => this.beat(), BEAT_MS);
  }

  /** What an earlier try has told. Throws VALUE_MISSING. */
  async earlier(): Promise<Timed[] | undefined> {
    const chunk = this.context.info.heartbeatDetails as Stored | undefined;
    if (!chunk) return undefined;
    // Should this try be lost too, the next one starts from there at least.
    this.kept = { count: 0, chunk };
    return (await this.values.load(chunk)) as unknown as Timed[];
  }

  note(entries: readonly Timed[]): void {
    this.entries = entries;
  }

  stop(): void {
    clearInterval(this.timer);
  }

  private beat(): void {
    this.context.heartbeat(this.kept?.chunk);
    const count = this.entries.length;
    if (this.keeping || count === (this.kept?.count ?? 0)) return;
    this.keeping = true;
    chunkOf(this.values, this.entries)
      .then((chunk) => (this.kept = { count, chunk }))
      // What cannot be kept now is tried again at the next beat; until then the last one stands.
      .catch(() => undefined)
      .finally(() => (this.keeping = false));
  }
}
