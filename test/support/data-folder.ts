import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Creates a folder. It is removed after the test, or when the function passed to `whenDone` is called. */
export function dataFolder(whenDone: (clean: () => void) => void = onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-data-'));
  whenDone(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
