import { randomUUID } from 'node:crypto';
import type { Clock } from '@heddle/core';
import { ControlServer } from './control.ts';
import type {
  NewControlRequest,
  ControlHandler,
  ControlOutcome,
  ControlRequest,
  ControlStore,
} from './control.ts';

/** Requests within one process. */
export class MemoryControlStore implements ControlStore {
  readonly #clock: Clock;
  readonly #open = new Map<string, ControlRequest>();
  readonly #outcomes = new Map<string, ControlOutcome>();
  readonly #services = new Set<ControlServer>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  async add(ask: NewControlRequest): Promise<string> {
    const id = randomUUID();
    this.#open.set(id, { ...structuredClone(ask), id, createdMs: this.#clock.now() });
    for (const service of this.#services) service.check();
    return id;
  }

  outcome(id: string): ControlOutcome | undefined {
    return this.#outcomes.get(id);
  }

  serve(handle: ControlHandler): () => Promise<void> {
    const settle = async (id: string, outcome: ControlOutcome): Promise<void> => {
      this.#open.delete(id);
      this.#outcomes.set(id, outcome);
    };
    const table = { open: () => [...this.#open.values()], settle, onError: () => undefined };
    const service = new ControlServer(table, handle);
    this.#services.add(service);
    service.check();
    return () => {
      this.#services.delete(service);
      return service.stop();
    };
  }
}
