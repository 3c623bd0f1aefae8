import type { FolderClient } from '@heddle/engine/reader';

/** Calls `use` with a client of the data folder, and closes the client afterwards. */
export async function withFolderClient<T>(
  data: string,
  use: (client: FolderClient) => Promise<T>,
): Promise<T> {
  const { openFolderClient } = await import('@heddle/engine/reader');
  const client = openFolderClient(data);
  try {
    return await use(client);
  } finally {
    client.close();
  }
}
