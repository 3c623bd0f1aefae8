/** The timers of one job. */
export class Alarms {
  readonly #timers = new Map<number, NodeJS.Timeout>();

  get size(): number {
    return this.#timers.size;
  }

  /** Has `due` called later; in place of an earlier one with the id. */
  set(id: number, ms: number, due: () => void): void {
    clearTimeout(this.#timers.get(id));
    const fire = (): void => {
      this.#timers.delete(id);
      due();
    };
    this.#timers.set(id, setTimeout(fire, ms));
  }

  clear(id: number): void {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
  }

  clearAll(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }
}
