import { createHash } from 'node:crypto';
import type {
  NewTenantFile,
  TenantFile,
  TenantFileChange,
  TenantFileQuery,
  TenantFiles,
  TenantFolderEntries,
} from '@heddle/engine/tenant-data';

interface StoredFile {
  file: TenantFile;
  bytes: Uint8Array;
}

type Tenant = string | undefined;

/** Stores files of tenants in memory, in place of a host application. */
export class MemoryFiles implements TenantFiles {
  readonly #files = new Map<Tenant, Map<string, StoredFile>>();
  readonly #results = new Map<string, TenantFile>();
  #createdCount = 0;
  /** Number of changes. */
  changeCount = 0;

  readonly find: TenantFiles['find'] = (tenant, id) => this.#filesOf(tenant).get(id)?.file;

  readonly list: TenantFiles['list'] = (tenant, query) => {
    const files = [...this.#filesOf(tenant).values()].map(({ file }) => file);
    const paths = new Set(files.flatMap(({ folderPath }) => listFolderAndParents(folderPath)));
    if (!paths.has(query.folderPath) && query.folderPath !== '/') return undefined;
    return entriesOf(files, paths, query);
  };

  readonly open: TenantFiles['open'] = (tenant, id) => {
    const storedFile = this.#filesOf(tenant).get(id);
    return storedFile && { file: storedFile.file, chunks: () => chunksOf(storedFile.bytes) };
  };

  readonly findResult: TenantFiles['findResult'] = (tenant, key) => this.#results.get(`${tenant} ${key}`);

  readonly create: TenantFiles['create'] = (tenant, file, key) =>
    this.#applyOnce(tenant, key, async () => {
      const { name, folderPath, type, onNameConflict } = file;
      const bytes = await readAllBytes(file.chunks);
      const existingFile = this.#fileNamed(tenant, file);
      if (existingFile && onNameConflict === 'replace')
        return this.#store(tenant, { ...existingFile, type }, bytes);
      const unusedName = existingFile ? this.#findUnusedName(tenant, file) : name;
      this.#createdCount += 1;
      return this.#store(
        tenant,
        { id: `wf_${this.#createdCount}`, name: unusedName, folderPath, type },
        bytes,
      );
    });

  readonly replace: TenantFiles['replace'] = async (tenant, change, key) => {
    const result = this.#results.get(`${tenant} ${key}`);
    if (result) return result;
    const bytes = await readAllBytes(change.chunks);
    const storedFile = this.#filesOf(tenant).get(change.id);
    if (storedFile?.file.revision !== change.revision) return undefined;
    return this.#applyOnce(tenant, key, async () => this.#store(tenant, storedFile.file, bytes));
  };

  readonly move: TenantFiles['move'] = async (tenant, { id, folderPath }, key) => {
    const storedFile = this.#filesOf(tenant).get(id);
    if (!storedFile) return undefined;
    return this.#applyOnce(tenant, key, async () =>
      this.#store(tenant, { ...storedFile.file, folderPath }, storedFile.bytes),
    );
  };

  /** Returns a `TenantFiles` with the methods of this object, except those that `methods` replaces. */
  withMethods(methods: Partial<TenantFiles>): TenantFiles {
    const { find, list, open, findResult, create, replace, move } = this;
    return { ...{ find, list, open, findResult, create, replace, move }, ...methods };
  }

  /** Returns the text of the file with this name. */
  readText(tenant: Tenant, name: string): string | undefined {
    const storedFile = [...this.#filesOf(tenant).values()].find(({ file }) => file.name === name);
    return storedFile && Buffer.from(storedFile.bytes).toString();
  }

  /** Stores a text file and returns its id. */
  async put(tenant: Tenant, name: string, content: string | Uint8Array, folderPath = '/'): Promise<string> {
    const file = { name, folderPath, type: 'text/plain', onNameConflict: 'rename' as const };
    const bytes = typeof content === 'string' ? Buffer.from(content) : content;
    return (
      await this.create(tenant, { ...file, chunks: chunksOf(bytes) }, `put ${this.#createdCount} ${name}`)
    ).id;
  }

  #filesOf(tenant: Tenant): Map<string, StoredFile> {
    const files = this.#files.get(tenant) ?? new Map<string, StoredFile>();
    this.#files.set(tenant, files);
    return files;
  }

  async #applyOnce(tenant: Tenant, key: string, change: () => Promise<TenantFile>): Promise<TenantFile> {
    const resultKey = `${tenant} ${key}`;
    const result = this.#results.get(resultKey) ?? (await change());
    this.#results.set(resultKey, result);
    return result;
  }

  #store(
    tenant: Tenant,
    { id, name, folderPath, type }: Pick<TenantFile, 'id' | 'name' | 'folderPath' | 'type'>,
    bytes: Uint8Array,
  ): TenantFile {
    this.changeCount += 1;
    const revision = createHash('sha256').update(`${this.changeCount}`).update(bytes).digest('hex');
    const updatedAt = new Date(this.changeCount * 1000).toISOString();
    const file = { id, name, folderPath, type, size: bytes.length, updatedAt, revision };
    this.#filesOf(tenant).set(id, { file, bytes });
    return file;
  }

  #fileNamed(tenant: Tenant, { name, folderPath }: Pick<NewTenantFile, 'name' | 'folderPath'>) {
    return [...this.#filesOf(tenant).values()].find(
      ({ file }) => file.name === name && file.folderPath === folderPath,
    )?.file;
  }

  #findUnusedName(tenant: Tenant, { name, folderPath }: NewTenantFile): string {
    for (let number = 1; ; number++) {
      const candidate = name.replace(/(\.[^.]*)?$/, ` (${number})$1`);
      if (!this.#fileNamed(tenant, { name: candidate, folderPath })) return candidate;
    }
  }
}

/** Returns the paths of a folder and its parents, without the root. */
function listFolderAndParents(path: string): string[] {
  const segments = path === '/' ? [] : path.slice(1).split('/');
  return segments.map((_, index) => `/${segments.slice(0, index + 1).join('/')}`);
}

function depthOf(path: string): number {
  return path === '/' ? 0 : path.split('/').length - 1;
}

function entriesOf(
  files: readonly TenantFile[],
  paths: ReadonlySet<string>,
  { folderPath, recursive, depth = Infinity, search = '', name, limit }: TenantFileQuery,
): TenantFolderEntries {
  const prefix = folderPath === '/' ? '/' : `${folderPath}/`;
  const parentOf = (path: string): string => path.slice(0, path.lastIndexOf('/')) || '/';
  const isMatch = (text: string): boolean => text.toLowerCase().includes(search.toLowerCase());
  const folders = [...paths]
    .filter((path) => path.startsWith(prefix) && (recursive || parentOf(path) === folderPath))
    .filter((path) => depthOf(path) - depthOf(folderPath) <= depth)
    .map((path) => ({ path, name: decodeURIComponent(path.slice(path.lastIndexOf('/') + 1)) }))
    .filter((folder) => name === undefined && isMatch(folder.name))
    .toSorted((one, other) => (one.path < other.path ? -1 : 1));
  const matchingFiles = files
    .filter((file) => file.folderPath === folderPath || (recursive && file.folderPath.startsWith(prefix)))
    .filter((file) => depthOf(file.folderPath) - depthOf(folderPath) < depth)
    .filter((file) => (name === undefined ? isMatch(file.name) : file.name === name));
  const entries = {
    folders: folders.slice(0, limit),
    files: matchingFiles.slice(0, Math.max(0, limit - folders.length)),
  };
  return { ...entries, truncated: folders.length + matchingFiles.length > limit };
}

async function readAllBytes(chunks: TenantFileChange['chunks']): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for await (const chunk of chunks) parts.push(chunk);
  return Buffer.concat(parts);
}

/** Yields the bytes in several chunks. */
export async function* chunksOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  const half = Math.ceil(bytes.length / 2);
  yield bytes.subarray(0, half);
  yield bytes.subarray(half);
}
