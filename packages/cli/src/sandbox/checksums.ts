import { UsageError } from '../usage-error.ts';

const PAIR = /^([^=]+)=([0-9a-f]{64})$/i;

/** What an operator vouches for, from `TOOL=SHA256` each: id of a command-line tool → digest. Throws a usage error. */
export function readChecksums(pairs: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    pairs.map((pair) => {
      const [, tool, digest] = PAIR.exec(pair) ?? [];
      if (tool !== undefined && digest !== undefined) return [tool, digest.toLowerCase()];
      throw new UsageError(
        `--checksum takes the id of a command-line tool and the SHA-256 of its publisher's file, not "${pair}".`,
        'Write it as TOOL=SHA256: --checksum flyctl@0.4.78-r1=… with 64 hexadecimal digits.',
      );
    }),
  );
}
