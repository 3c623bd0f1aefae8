import { text } from 'node:stream/consumers';
import type { ServiceStore } from '@heddle/service';
import type { Io } from '../io.ts';
import { styleFor } from '../render/style.ts';
import { sealingOf, withServiceStore } from '../serve/service-store.ts';
import type { Sealing } from '../serve/service-store.ts';
import type { StoreOptions } from '../store-options.ts';
import { UsageError } from '../usage-error.ts';

// Shared by the commands for secrets, credentials and skills.

/** Reads standard input, without its last line break. Throws a usage error if it is empty. */
export async function readStdinValue(io: Io, example: string): Promise<string> {
  const value = (await text(io.stdin)).replace(/\r?\n$/, '');
  if (value !== '') return value;
  throw new UsageError('There is no value on standard input.', `For example: ${example}`);
}

/** Prints that a command has succeeded. */
export function printSuccess(io: Io, message: string): void {
  io.stderr.write(`${styleFor(io.stderr).green('✓')} ${message}\n`);
}

/** Calls `use` with the store of the HTTP API and the sealer that encrypts its secrets, then closes the store. */
export async function withSealedStore<T>(
  options: StoreOptions,
  use: (store: ServiceStore, sealing: Sealing) => Promise<T>,
): Promise<T> {
  const sealing = await sealingOf(options);
  return withServiceStore(options, (store) => use(store, sealing));
}

/** Calls `action`. Converts errors that the user can correct into usage errors. */
export async function withUsageErrors<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    const { SealingError } = await import('@heddle/service');
    if (error instanceof RangeError || error instanceof SealingError) throw new UsageError(error.message);
    throw error;
  }
}
