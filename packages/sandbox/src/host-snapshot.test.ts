import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { valueIn } from '../../../test/support/outcome.ts';
import { UNCONFINED } from '../../../test/support/unconfined.ts';
import { createSandbox } from './index.ts';
import { HostSnapshot } from './host-snapshot.ts';

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function createFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-own-'));
  cleanups.push(() => rmSync(folder, { recursive: true }));
  return folder;
}

function createHostSnapshot(folder: string, delayMs?: number): HostSnapshot {
  const snapshot = new HostSnapshot({
    execPath: process.execPath,
    getConfinement: () => UNCONFINED,
    memoryMiB: 256,
    folder,
    ...(delayMs !== undefined && { delayMs }),
  });
  cleanups.push(() => snapshot.close());
  return snapshot;
}

const READ_RANDOM_VALUES = `
import random, secrets, uuid
return [hash("a text"), random.random(), secrets.token_hex(8), str(uuid.uuid4()), sum([1, 2])]`;

/** Runs two jobs, the second in a new interpreter. Returns their results. */
async function runTwice(folder?: string): Promise<unknown[][]> {
  const sandbox = createSandbox({
    share: 'none',
    python: { maxProcesses: 1, ...(folder !== undefined && { folder }) },
  });
  cleanups.push(() => sandbox.close());
  const runOnce = async (runId: string): Promise<unknown[]> =>
    valueIn(await sandbox.run({ runId, language: 'python', code: READ_RANDOM_VALUES })) as unknown[];
  return [await runOnce('first'), await runOnce('second')];
}

describe('the memory snapshot of a host', { timeout: 120_000 }, () => {
  it('has its own hash seed; random values differ in every run', async () => {
    const folders = [createFolder(), createFolder()] as const;
    for (const folder of folders) {
      const snapshot = createHostSnapshot(folder);
      expect(snapshot.path).toBeUndefined();
      await snapshot.make();
      expect(snapshot.path).toBe(join(folder, String(readdirSync(folder)[0])));
    }
    const resultsOfHosts = [await runTwice(), await runTwice(folders[0]), await runTwice(folders[1])];
    expect(new Set(resultsOfHosts.map(([firstResults]) => firstResults?.[0])).size).toBe(3);
    for (const [firstResults = [], secondResults = []] of resultsOfHosts) {
      expect([firstResults[0], firstResults[4]]).toEqual([secondResults[0], 3]);
      for (const index of [1, 2, 3]) expect(firstResults[index]).not.toBe(secondResults[index]);
    }
  });

  it('is made after a delay, unless it is closed before', async () => {
    const folder = createFolder();
    const snapshot = createHostSnapshot(folder, 0);
    expect(snapshot.path).toBeUndefined();
    await expect.poll(() => snapshot.path, { timeout: 60_000 }).toBeDefined();
    expect(readFileSync(String(snapshot.path)).length).toBeGreaterThan(2 ** 24);

    const closedSnapshot = createHostSnapshot(createFolder(), 600_000);
    expect(closedSnapshot.path).toBeUndefined();
    await closedSnapshot.close();
    expect(closedSnapshot.path).toBeUndefined();
  });
});
