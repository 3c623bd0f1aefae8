import { client, dataOf } from '../api/client.ts';

/** A folder and its workspace. */
interface FolderRef {
  workspaceId: string;
  path: string;
}

const FOLDERS = '/api/v2/workflows/folders';

/** Creates a folder. Its parent must exist. */
export async function createFolder(body: FolderRef): Promise<void> {
  await dataOf(client.POST(FOLDERS, { body }));
}

/** Moves or renames a folder with its contents. */
export async function relocateFolder(folder: FolderRef, destinationPath: string): Promise<void> {
  await dataOf(client.PATCH(FOLDERS, { body: { ...folder, destinationPath } }));
}

/** Deletes a folder. With `recursive`, also deletes the folders in it and archives its workflows. */
export async function deleteFolder(folder: FolderRef, recursive: boolean): Promise<void> {
  const query = { ...folder, recursive: recursive ? 'true' : 'false' } as const;
  await dataOf(client.DELETE(FOLDERS, { params: { query } }));
}

/** Moves workflows to a folder. Throws an Error with the server's reason if one was not moved. */
export async function moveWorkflows(
  workspaceId: string,
  workflowIds: string[],
  folderPath: string,
): Promise<void> {
  const body = { workspaceId, workflowIds, folderPath };
  const { data } = await dataOf(client.POST('/api/v2/workflows/move', { body }));
  const [first] = data.failed;
  if (first) throw new Error(`Not moved: ${data.failed.length} of ${workflowIds.length}. ${first.reason}`);
}
