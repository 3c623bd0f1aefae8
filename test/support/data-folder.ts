import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** A new folder, removed when the test has finished, or when `whenDone` says. */
export function dataFolder(whenDone: (clean: () => void) => void = onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-data-'));
  whenDone(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
