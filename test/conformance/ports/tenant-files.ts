import type { NewTenantFile, TenantFiles } from '@heddle/engine/tenant-data';
import { describe, expect, it } from 'vitest';

type Tenant = 'ada' | 'bob';

/** Yields the text in several chunks. */
async function* chunksOf(text: string): AsyncGenerator<Uint8Array> {
  for (const chunk of [text.slice(0, 2), text.slice(2)]) yield Buffer.from(chunk);
}

/** Tests an implementation of files of tenants. `open` opens one without files. The tenants `ada` and `bob` exist. */
export function describeTenantFiles(name: string, open: () => Promise<TenantFiles> | TenantFiles): void {
  describe(`${name}: files of tenants`, () => {
    let keyCount = 0;
    const create = async (
      files: TenantFiles,
      tenant: Tenant,
      text: string,
      options: Partial<NewTenantFile> & { key?: string } = {},
    ) => {
      const { key = `key ${(keyCount += 1)}`, ...overrides } = options;
      const file = { name: 'a.txt', folderPath: '/', type: 'text/plain', onNameConflict: 'rename' as const };
      return files.create(tenant, { ...file, ...overrides, chunks: chunksOf(text) }, key);
    };
    const readText = async (files: TenantFiles, tenant: Tenant, id: string): Promise<string | undefined> => {
      const openedFile = await files.open(tenant, id);
      if (!openedFile) return undefined;
      const chunks: Uint8Array[] = [];
      for await (const chunk of openedFile.chunks()) chunks.push(chunk);
      expect(openedFile.file.size).toBe(Buffer.concat(chunks).length);
      return Buffer.concat(chunks).toString();
    };
    const wholeTreeQuery = { folderPath: '/', recursive: true, limit: 100 };

    it('have the content, name, type and folder that they were stored with', async () => {
      const files = await open();
      const file = await create(files, 'ada', 'hello', { folderPath: '/R%C3%A9/b', type: 'text/csv' });
      expect(file).toMatchObject({ name: 'a.txt', size: 5, type: 'text/csv', folderPath: '/R%C3%A9/b' });
      expect(await readText(files, 'ada', file.id)).toBe('hello');
      expect(await files.find('ada', file.id)).toEqual(file);
      expect(Number.isNaN(Date.parse(file.updatedAt))).toBe(false);
    });

    it('are not visible to other tenants', async () => {
      const files = await open();
      const { id, revision } = await create(files, 'ada', 'hello', { folderPath: '/Plans' });
      const accessAsBob = async (fileId: string) => [
        await files.find('bob', fileId),
        await files.open('bob', fileId),
        await files.replace('bob', { id: fileId, revision, chunks: chunksOf('x') }, `r ${fileId}`),
        await files.move('bob', { id: fileId, folderPath: '/' }, `m ${fileId}`),
        await files.list('bob', { ...wholeTreeQuery, folderPath: '/Plans' }),
      ];
      expect(await accessAsBob(id)).toEqual(await accessAsBob('unknown'));
      expect(await files.list('bob', wholeTreeQuery)).toEqual({ folders: [], files: [], truncated: false });
      expect(await readText(files, 'ada', id)).toBe('hello');
    });

    it('are stored once for each idempotency key of a tenant', async () => {
      const files = await open();
      const firstFile = await create(files, 'ada', 'hello', { key: 'k' });
      expect(await create(files, 'ada', 'other', { key: 'k' })).toEqual(firstFile);
      expect(await files.findResult('ada', 'k')).toEqual(firstFile);
      expect(await files.findResult('bob', 'k')).toBeUndefined();
      const fileOfBob = await create(files, 'bob', 'other', { key: 'k' });
      expect(fileOfBob.id).not.toBe(firstFile.id);
      expect((await files.list('ada', wholeTreeQuery))?.files).toHaveLength(1);
      expect(await readText(files, 'ada', firstFile.id)).toBe('hello');
    });

    it('get another name if the name exists in the folder, or replace the file that has it', async () => {
      const files = await open();
      const firstFile = await create(files, 'ada', 'one');
      const secondFile = await create(files, 'ada', 'two');
      expect(secondFile.name).not.toBe(firstFile.name);
      const replacedFile = await create(files, 'ada', 'three', { onNameConflict: 'replace' });
      expect(replacedFile).toMatchObject({ id: firstFile.id, name: firstFile.name, size: 5 });
      expect(replacedFile.revision).not.toBe(firstFile.revision);
      const fileInOtherFolder = await create(files, 'ada', 'four', {
        onNameConflict: 'replace',
        folderPath: '/b',
      });
      expect(fileInOtherFolder).toMatchObject({ name: 'a.txt' });
      expect(fileInOtherFolder.id).not.toBe(firstFile.id);
    });

    it('are replaced only if the caller has read the current revision, and once for an idempotency key', async () => {
      const files = await open();
      const { id, revision } = await create(files, 'ada', 'one');
      const replace = (text: string, baseRevision: string, key: string) =>
        files.replace('ada', { id, revision: baseRevision, chunks: chunksOf(text) }, key);
      const changedFile = await replace('two', revision, 'k1');
      expect(changedFile).toMatchObject({ id, size: 3 });
      expect(await replace('three', revision, 'k2')).toBeUndefined();
      expect(await replace('four', revision, 'k1')).toEqual(changedFile);
      expect(await files.findResult('ada', 'k2')).toBeUndefined();
      expect(await readText(files, 'ada', id)).toBe('two');
    });

    it('are not stored if reading their content fails, and the idempotency key stays unused', async () => {
      const files = await open();
      const chunks = (async function* () {
        yield Buffer.from('half');
        throw new Error('cut off');
      })();
      const file = {
        name: 'a.txt',
        folderPath: '/',
        type: 'text/plain',
        onNameConflict: 'rename' as const,
        chunks,
      };
      await expect(async () => files.create('ada', file, 'k')).rejects.toThrow('cut off');
      expect((await files.list('ada', wholeTreeQuery))?.files).toEqual([]);
      expect(await create(files, 'ada', 'whole', { key: 'k' })).toMatchObject({ size: 5 });
    });

    it('are listed by folder, depth, exact name and search text, up to a limit', async () => {
      const files = await open();
      for (const [fileName, folderPath] of [
        ['one.txt', '/'],
        ['two.md', '/a'],
        ['One.md', '/a/b'],
      ] as const)
        await create(files, 'ada', 'x', { name: fileName, folderPath });
      const list = async (query: object) => {
        const listing = await files.list('ada', { ...wholeTreeQuery, ...query });
        return (
          listing && [...listing.folders.map(({ path }) => path), ...listing.files.map((file) => file.name)]
        );
      };
      expect(await list({ recursive: false })).toEqual(['/a', 'one.txt']);
      expect(await list({ folderPath: '/a', recursive: false })).toEqual(['/a/b', 'two.md']);
      expect((await list({}))?.toSorted()).toEqual(['/a', '/a/b', 'One.md', 'one.txt', 'two.md']);
      expect((await list({ depth: 1 }))?.toSorted()).toEqual(['/a', 'one.txt']);
      expect((await list({ depth: 2 }))?.toSorted()).toEqual(['/a', '/a/b', 'one.txt', 'two.md']);
      expect((await list({ folderPath: '/a', depth: 1 }))?.toSorted()).toEqual(['/a/b', 'two.md']);
      expect(await files.list('ada', { ...wholeTreeQuery, depth: 1, limit: 2 })).toMatchObject({
        truncated: false,
      });
      expect((await list({ search: 'ONE' }))?.toSorted()).toEqual(['One.md', 'one.txt']);
      expect(await list({ name: 'one.txt' })).toEqual(['one.txt']);
      expect(await list({ folderPath: '/nosuch' })).toBeUndefined();
      expect(await files.list('ada', { ...wholeTreeQuery, limit: 2 })).toMatchObject({ truncated: true });
    });

    it('move to a folder', async () => {
      const files = await open();
      const { id } = await create(files, 'ada', 'one');
      expect(await files.move('ada', { id, folderPath: '/new' }, 'm')).toMatchObject({
        id,
        folderPath: '/new',
      });
      expect((await files.list('ada', { ...wholeTreeQuery, folderPath: '/new' }))?.files).toMatchObject([
        { id },
      ]);
      expect(await readText(files, 'ada', id)).toBe('one');
    });
  });
}
