import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Returns a new folder, which is removed when the test has finished or when `whenDone` calls its function. */
export function dataFolder(whenDone: (clean: () => void) => void = onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-data-'));
  whenDone(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
