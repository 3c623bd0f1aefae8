import type { RunHeader, RunRecord } from '@heddle/core';
import type { RunChangeStore, StoredChange } from './stores.ts';

type Runs = ReadonlyMap<string, { header: RunHeader; record: RunRecord | undefined }>;

/** Changes to runs, in memory. */
export class MemoryRunChanges implements RunChangeStore {
  readonly #changes = new Map<number, string>();
  #runs: Runs = new Map();
  #hasBegun = false;
  #position = 0;

  /** Sets the store from which `read` takes headers and records. */
  setRuns(runs: Runs): void {
    this.#runs = runs;
  }

  add(runId: string): void {
    if (this.#hasBegun) this.#changes.set((this.#position += 1), runId);
  }

  begin(): void {
    if (this.#hasBegun) return;
    this.#hasBegun = true;
    for (const runId of this.#runs.keys()) this.add(runId);
  }

  read(limit: number): StoredChange[] {
    return [...this.#changes]
      .slice(0, limit)
      .map(([position, runId]) => ({ position, runId, ...structuredClone(this.#runOf(runId)) }));
  }

  acknowledge(positions: readonly number[]): void {
    for (const position of positions) this.#changes.delete(position);
  }

  bytesOf(runIds: readonly string[]): Map<string, number> {
    return new Map(
      runIds.flatMap((runId) => {
        const run = this.#runs.get(runId);
        return run ? [[runId, byteSizeOf(JSON.stringify(run))]] : [];
      }),
    );
  }

  #runOf(runId: string): { header?: RunHeader; record?: RunRecord } {
    const { header, record } = this.#runs.get(runId) ?? {};
    return { ...(header && { header }), ...(record && { record }) };
  }
}

/** Returns the bytes of the text and of the stored values that it refers to. */
function byteSizeOf(text: string): number {
  const refs = text.matchAll(/"key":"sha256:[0-9a-f]{64}","bytes":(\d+)/g);
  return [...refs].reduce((sum, [, bytes]) => sum + Number(bytes), Buffer.byteLength(text));
}
