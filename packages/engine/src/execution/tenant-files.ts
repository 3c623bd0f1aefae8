import { hostFailure, tenantAccess } from './tenant-access.ts';
import type { MaybePromise, TenantPort, TenantPortContext } from './tenant-access.ts';

/** A file that a tenant has stored, without its content. */
export interface TenantFile {
  /** Unique among the files of all tenants; up to 256 characters. */
  id: string;
  /** Unique in its folder. */
  name: string;
  /** Size in bytes. */
  size: number;
  /** Media type. */
  type: string;
  /** The folder: percent-encoded names, each after a slash, such as `/Reports/Q3%20Results`. `/` is the root folder. */
  folderPath: string;
  /** ISO 8601. */
  updatedAt: string;
  /** Changes whenever the content changes. */
  revision: string;
  /** URL at which people open the file. */
  url?: string;
}

/** A folder that a tenant has stored. */
export interface TenantFolder {
  name: string;
  /** Like `folderPath` of files. */
  path: string;
}

/** The files and folders in a folder. */
export interface TenantFolderEntries {
  folders: TenantFolder[];
  files: TenantFile[];
  /** True if more than `limit` entries match. */
  truncated: boolean;
}

/** A query of the entries of a folder, which are ordered by path and name. */
export interface TenantFileQuery {
  folderPath: string;
  /** True to include the content of subfolders, at any depth. */
  recursive: boolean;
  /** Only entries up to this depth. The entries directly in the folder have the depth 1. Default: no maximum. */
  depth?: number;
  /** Only entries whose names contain this string, ignoring case. */
  search?: string;
  /** Only the files with exactly this name, and no folders. */
  name?: string;
  /** Maximum number of entries. */
  limit: number;
}

/** A file to store. */
export interface NewTenantFile {
  /** A name, not a path; 1 to 255 characters. */
  name: string;
  /** Folders that do not exist are created. */
  folderPath: string;
  /** Media type. */
  type: string;
  chunks: AsyncIterable<Uint8Array>;
  /**
   * If the folder has a file with this name: `rename` gives the new file another name, `replace` replaces the content
   * of the old file.
   */
  onNameConflict: 'rename' | 'replace';
}

/** New content for a file. */
export interface TenantFileChange {
  id: string;
  /** If the file has another revision, nothing changes. */
  revision: string;
  chunks: AsyncIterable<Uint8Array>;
}

/** The content of a file that is being read. */
export interface TenantFileContent {
  file: TenantFile;
  chunks(): AsyncIterable<Uint8Array>;
}

/**
 * Files that tenants have stored, for blocks of their workflows. `tenant` is undefined for a workflow without a tenant.
 * Treat files of other tenants as unknown files.
 *
 * `key` is an idempotency key, unique within the tenant: a repeated call has the same key, changes nothing, and returns
 * the result of the first call. Store the key together with the change. A call whose `chunks` throw stores nothing.
 *
 * A BlockError fails the block. Other errors are reported, and the block fails with FILES_UNAVAILABLE.
 */
export interface TenantFiles {
  /** Returns the file with this id; undefined if there is none. */
  find(this: void, tenant: string | undefined, id: string): MaybePromise<TenantFile | undefined>;
  /** Returns entries of a folder; undefined if the folder does not exist. The folder `/` always exists. */
  list(
    this: void,
    tenant: string | undefined,
    query: TenantFileQuery,
  ): MaybePromise<TenantFolderEntries | undefined>;
  /** Opens a file; undefined if there is none with this id. `file` and `chunks` are of the same revision. */
  open(this: void, tenant: string | undefined, id: string): MaybePromise<TenantFileContent | undefined>;
  /** Returns the result of the call with this key; undefined if there was no call with this key. */
  findResult(this: void, tenant: string | undefined, key: string): MaybePromise<TenantFile | undefined>;
  /** Stores a file. */
  create(this: void, tenant: string | undefined, file: NewTenantFile, key: string): MaybePromise<TenantFile>;
  /** Replaces the content of a file; undefined if there is none with this id and revision. */
  replace(
    this: void,
    tenant: string | undefined,
    change: TenantFileChange,
    key: string,
  ): MaybePromise<TenantFile | undefined>;
  /** Moves a file to a folder, which is created if it does not exist; undefined if there is no file with this id. */
  move(
    this: void,
    tenant: string | undefined,
    file: Pick<TenantFile, 'id' | 'folderPath'>,
    key: string,
  ): MaybePromise<TenantFile | undefined>;
}

/** The files of the run's tenant. Throws FILES_UNAVAILABLE if the host fails. */
export type RunTenantFiles = TenantPort<TenantFiles>;

const UNAVAILABLE_ERROR = {
  code: 'FILES_UNAVAILABLE',
  message: 'The workspace files are unavailable.',
} as const;

/** Returns the files of the run's tenant; undefined if the host stores none. */
export function tenantFilesOf(
  files: TenantFiles | undefined,
  context: TenantPortContext,
): RunTenantFiles | undefined {
  if (!files) return undefined;
  const access = tenantAccess(files, context, UNAVAILABLE_ERROR);
  return {
    find: (id) => access((filesPort, tenant) => filesPort.find(tenant, id)),
    list: (query) => access((filesPort, tenant) => filesPort.list(tenant, query)),
    open: async (id) => {
      const content = await access((filesPort, tenant) => filesPort.open(tenant, id));
      return content && { file: content.file, chunks: () => readChunks(content, context) };
    },
    findResult: (key) => access((filesPort, tenant) => filesPort.findResult(tenant, key)),
    create: (file, key) => access((filesPort, tenant) => filesPort.create(tenant, file, key)),
    replace: (change, key) => access((filesPort, tenant) => filesPort.replace(tenant, change, key)),
    move: (file, key) => access((filesPort, tenant) => filesPort.move(tenant, file, key)),
  };
}

/** Returns the content. Errors during reading are handled like other errors of the host. */
async function* readChunks(
  content: TenantFileContent,
  { onError }: TenantPortContext,
): AsyncGenerator<Uint8Array> {
  try {
    yield* content.chunks();
  } catch (error) {
    throw hostFailure(error, onError, UNAVAILABLE_ERROR);
  }
}
