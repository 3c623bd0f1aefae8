import { watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A file in the data folder that processes write to, so that other processes check for changes immediately.
 *
 * Watching the database file or its log would wake the owner at each of its own commits. Notifications are only an
 * optimization: on a file system that reports no changes, readers poll.
 */
export class ChangeNotifier {
  readonly #file: string;

  constructor(dataFolder: string, name: string) {
    this.#file = join(dataFolder, name);
  }

  notify(): void {
    try {
      writeFileSync(this.#file, `${process.pid}\n`, { mode: 0o600 });
    } catch {
      // The change is stored; readers find it by polling.
    }
  }

  /** Calls `onChange` at each notification, until the returned function is called. Does not keep the process alive. */
  watch(onChange: () => void): () => void {
    // Creates the file.
    this.notify();
    try {
      const watcher = watch(this.#file, { persistent: false }, onChange);
      watcher.on('error', () => watcher.close());
      return () => watcher.close();
    } catch {
      return () => undefined;
    }
  }
}
