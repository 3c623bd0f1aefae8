import { getOwn } from '@heddle/core/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import type { TenantFile, TenantFolder } from '@heddle/engine/tenant-data';
import type { NativeToolCall } from '../native-integration.ts';
import { parseFolderPath } from './folders.ts';
import { unknownFolderError } from './read.ts';
import { workspaceFiles } from './sources.ts';

/** Maximum number of entries of a list. */
export const MAX_ENTRIES = 1000;
const DEFAULT_LIMIT = 200;

/** Returns the files and folders in a folder. */
export async function listFolder({ args, context }: NativeToolCall): Promise<JsonObject> {
  const path = parseFolderPath(args, 'folderPath') ?? '/';
  const [search, limit, depth] = ['search', 'limit', 'depth'].map((name) => getOwn(args, name));
  const listing = await workspaceFiles(context).list({
    folderPath: path,
    recursive: getOwn(args, 'recursive') === true,
    limit: typeof limit === 'number' ? limit : DEFAULT_LIMIT,
    ...(typeof search === 'string' && { search }),
    ...(typeof depth === 'number' && { depth }),
  });
  if (!listing) throw unknownFolderError(path);
  const { folders, files, truncated } = listing;
  // Hosts that were written before the option `depth` existed ignore it.
  const entries = [
    ...folders.map((folder) => folderEntry(folder, path)),
    ...files.map((file) => fileEntry(file, path)),
  ].filter((entry) => typeof depth !== 'number' || entry.depth <= depth);
  return { path, entries, truncated };
}

function folderEntry({ name, path }: TenantFolder, listedPath: string) {
  return { kind: 'folder', name, path, depth: depthOf(path) - depthOf(listedPath) };
}

function fileEntry({ id, name, size, type, folderPath, updatedAt, url }: TenantFile, listedPath: string) {
  const depth = depthOf(folderPath) - depthOf(listedPath) + 1;
  return {
    ...{ kind: 'file', id, name, size, type, folderPath, updatedAt },
    ...(url !== undefined && { url }),
    depth,
  };
}

function depthOf(path: string): number {
  return path === '/' ? 0 : path.split('/').length - 1;
}
