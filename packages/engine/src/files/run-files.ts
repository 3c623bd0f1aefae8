import type { ValueStore } from '@heddle/core';
import { BlockError } from '@heddle/core/blocks';
import type { FileRecord } from '@heddle/core/files';
import { wrapStoreErrors } from '../records/infrastructure-error.ts';
import type { RuntimeDependencies } from '../execution/runtime-dependencies.ts';
import { storeFileStream } from './storage.ts';
import type { FileStream } from './storage.ts';

/** Stores a file that a block of the run receives. */
export type FileStorage = (file: FileStream) => Promise<FileRecord>;

/** Returns the file storage for the blocks of one run. It limits the total size of their files. */
export function fileStorage(
  { stores, maxRunFileBytes }: Pick<RuntimeDependencies, 'stores' | 'maxRunFileBytes'>,
  tenant: () => Promise<string | undefined>,
): FileStorage {
  let remainingBytes = maxRunFileBytes;
  // If the store fails, the run is interrupted and continues later. The block does not fail.
  const values: Pick<ValueStore, 'put' | 'prune'> = {
    put: (json) => wrapStoreErrors(() => stores.values.put(json)),
    prune: (keys, unusedMs) => wrapStoreErrors(() => stores.values.prune(keys, unusedMs)),
  };
  return async (file) => {
    let bytes = 0;
    const countChunks = async function* (): AsyncGenerator<Uint8Array, void> {
      for await (const chunk of file.chunks) {
        bytes += chunk.length;
        remainingBytes -= chunk.length;
        if (remainingBytes < 0)
          throw new BlockError(
            'FILE_TOO_LARGE',
            `The files of this run have more than ${maxRunFileBytes} bytes together.`,
            { retryable: false },
          );
        yield chunk;
      }
    };
    try {
      return await storeFileStream(values, { ...file, chunks: countChunks() }, await tenant());
    } catch (error) {
      remainingBytes += bytes;
      throw error;
    }
  };
}

/** Returns the error for a file that is too large to be read as a whole. */
export function fileTooLargeError(bytes: number, maxBytes: number): BlockError {
  return new BlockError(
    'FILE_TOO_LARGE',
    `A file of ${bytes} bytes is too large to be read as one string: the maximum is ${maxBytes} bytes. Pass the file itself to blocks that accept files, instead of its content.`,
    { retryable: false, details: { bytes, maxBytes } },
  );
}
