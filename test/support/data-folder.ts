import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';

/** Creates a folder. It is removed after the test, or when the function passed to `registerCleanup` is called. */
export function createDataFolder(registerCleanup: (cleanup: () => void) => void = onTestFinished): string {
  const folder = mkdtempSync(join(tmpdir(), 'heddle-data-'));
  registerCleanup(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
