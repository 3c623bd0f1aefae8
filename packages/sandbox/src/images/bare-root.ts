import { realpathSync } from 'node:fs';
import { librariesOf, unusualFolders } from '../isolation/libraries.ts';

/** A root that has Node.js and what it loads, and nothing else of the host. */
export interface BareRoot {
  readonly execPath: string;
  /** Files that appear at their own paths. */
  readonly readable: readonly string[];
  /** What Node.js has to be told. */
  readonly environment: Readonly<Record<string, string>>;
}

/** What the sandbox of a builder's own program begins with. */
export function bareRoot(): BareRoot {
  const execPath = realpathSync(process.execPath);
  const readable = librariesOf(execPath, []);
  const folders = unusualFolders(readable);
  return {
    execPath,
    readable,
    environment: folders.length > 0 ? { LD_LIBRARY_PATH: folders.join(':') } : {},
  };
}
