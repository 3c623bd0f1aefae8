import { watch, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A file that requesters touch so that the owner looks at once.
 *
 * Watching the data file or its log would wake the owner at each commit of its own. Nothing depends on the bell: where
 * a file system reports no changes, the owner's slow poll finds the requests.
 */
export class ChangeNotifier {
  readonly #file: string;

  constructor(data: string) {
    this.#file = join(data, 'doorbell');
  }

  notify(): void {
    try {
      writeFileSync(this.#file, `${process.pid}\n`, { mode: 0o600 });
    } catch {
      // The request is stored; the owner's poll finds it.
    }
  }

  /** Calls `heard` at each ring until the returned function is called. Does not keep the process alive. */
  watch(heard: () => void): () => void {
    this.notify();
    try {
      const watcher = watch(this.#file, { persistent: false }, heard);
      watcher.on('error', () => watcher.close());
      return () => watcher.close();
    } catch {
      return () => undefined;
    }
  }
}
