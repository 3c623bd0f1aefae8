import { WorkerGroup } from './worker-group.ts';
import type { WorkerGroupOptions } from './worker-group.ts';

/** The server and the bundle of both contenders. */
export type Setup = Pick<WorkerGroupOptions, 'server' | 'bundlePath'>;

/** Started groups of processes. Rows with the same contender, layout and settings share a group. */
export class WorkerGroups {
  readonly #setup: Setup;
  readonly #groups = new Map<string, Promise<WorkerGroup>>();

  constructor(setup: Setup) {
    this.#setup = setup;
  }

  get(options: Omit<WorkerGroupOptions, keyof Setup>): Promise<WorkerGroup> {
    const key = JSON.stringify([options.contender, options.layout, options.settings]);
    const group = this.#groups.get(key) ?? WorkerGroup.start({ ...this.#setup, ...options });
    this.#groups.set(key, group);
    return group;
  }

  /** Stops the groups that have started. */
  async stop(): Promise<void> {
    const results = await Promise.allSettled(this.#groups.values());
    this.#groups.clear();
    await Promise.all(
      results.filter((result) => result.status === 'fulfilled').map(({ value }) => value.stop()),
    );
  }
}
