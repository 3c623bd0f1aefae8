import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A new folder, removed when the test has finished. */
export function dataFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-data-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
