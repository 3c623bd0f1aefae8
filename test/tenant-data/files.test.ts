import type { JsonObject } from '@heddle/core';
import { filesIn } from '@heddle/core/files';
import { describe, expect, it } from 'vitest';
import { describeTenantFiles } from '../conformance/ports/tenant-files.ts';
import { MemoryFiles } from '../support/tenant-files.ts';
import { TestClock } from '../support/test-clock.ts';
import { block, workflow } from '../support/workflow.ts';
import { openTenantEngine, createInputFile, runBlock, startWebServer } from './setup.ts';

describeTenantFiles('memory', () => new MemoryFiles());

const DIVIDER = `\n${'='.repeat(80)}\n\n`;
const PDF = Buffer.from('%PDF-1.7\n%%EOF');

describe('a file block', () => {
  it.each([
    ['file', { inputMethod: 'upload', file: '<start.docs>' }],
    ['file_v2', { file: '<start.docs>' }],
  ])('parses the files of the input and outputs their contents: %s', async (type, fields) => {
    const engine = await openTenantEngine();
    const docs = [
      createInputFile('a.csv', 'id,name\n1,Ada', 'text/csv'),
      createInputFile('b.json', '{"n": 1}'),
    ];
    const result = await runBlock(engine, type, fields, docs);
    expect(result).toMatchObject({
      status: 'completed',
      output: {
        files: [
          { name: 'a.csv', content: 'id,name\n1,Ada', fileType: 'text/csv', size: 13, binary: false },
          { name: 'b.json', content: '{"n": 1}' },
        ],
        combinedContent: `id,name\n1,Ada${DIVIDER}{"n": 1}`,
      },
    });
    expect(filesIn(result.output).map(({ name }) => name)).toEqual(['a.csv', 'b.json']);
  });

  it('downloads a file from a URL and stores it as a run file', async () => {
    const webServer = await startWebServer({ '/notes/loom%20one.md': '# Looms' });
    const engine = await openTenantEngine(webServer.egressOptions);
    const filePath = `${webServer.url}/notes/loom%20one.md`;
    const olderVersionResult = await runBlock(engine, 'file', { inputMethod: 'url', filePath });
    expect(olderVersionResult.output).toMatchObject({ files: [{ name: 'loom one.md', content: '# Looms' }] });
    const newerVersionResult = await runBlock(engine, 'file_v5', {
      operation: 'file_fetch',
      fileUrl: filePath,
      headers: [{ cells: { Key: 'X-Shop', Value: 'weave' } }],
    });
    expect(newerVersionResult.output).toMatchObject({
      files: [{ name: 'loom one.md', size: 7 }],
      combinedContent: '# Looms',
    });
    expect(webServer.requests.map(({ headers }) => headers['x-shop'])).toEqual([undefined, 'weave']);
    const [file] = filesIn(newerVersionResult.output);
    const content = file && (await engine.openFile(newerVersionResult.runId, file));
    expect(content?.bytes).toBe(7);
  });

  it('encodes the values of references in a URL, so that they change no other part of the URL', async () => {
    const webServer = await startWebServer({ '/a/..%2Fsecret.txt': 'kept' });
    const engine = await openTenantEngine(webServer.egressOptions);
    const source = {
      workflow: workflow(
        [block('A', 'file_v4', { operation: 'file_fetch', fileUrl: `${webServer.url}/a/<start.name>` })],
        ['Start -> A'],
      ),
    };
    const result = await engine.execute(source, { name: '../secret.txt' });
    expect(result.output).toMatchObject({ combinedContent: 'kept' });
    expect(webServer.requests.map(({ path }) => path)).toEqual(['/a/..%2Fsecret.txt']);
  });

  it('reads a range of lines of each file', async () => {
    const engine = await openTenantEngine();
    const fields = { operation: 'file_get_content', getContentFile: '<start.docs>', contentOffset: '2' };
    const docs = [createInputFile('a.txt', 'one\ntwo\nthree'), createInputFile('b.txt', 'alone')];
    const result = await runBlock(engine, 'file_v5', { ...fields, contentLimit: '1' }, docs);
    expect(result.output).toEqual({
      contents: ['two', ''],
      lineRanges: [
        { offset: 2, lineCount: 1, totalLines: 3 },
        { offset: 2, lineCount: 0, totalLines: 1 },
      ],
    });
  });

  it.each<[description: string, content: string | Uint8Array, name: string, message: RegExp]>([
    ['a PDF', PDF, 'order.pdf', /"order\.pdf" is a PDF.*mistral_parse/],
    ['Word', Buffer.from('PK\x03\x04 \0', 'latin1'), 'a.docx', /"a\.docx" is a Word document/],
    ['bytes', Buffer.from([1, 0, 2]), 'x.txt', /"x\.txt" is not text/],
    ['another character set', Buffer.from('Gr\xfc\xdfe', 'latin1'), 'x.txt', /is not UTF-8 text/],
  ])('names the type of a file that it cannot read: %s', async (_description, content, name, message) => {
    const engine = await openTenantEngine();
    const result = await runBlock(engine, 'file_v2', { file: '<start.docs>' }, [
      createInputFile(name, content),
    ]);
    expect(result.error).toMatchObject({ code: 'FILE_TYPE_UNSUPPORTED' });
    expect(result.error?.message).toMatch(message);
  });

  it('reads UTF-16 with a byte order mark', async () => {
    const engine = await openTenantEngine();
    const docs = [createInputFile('x.csv', Buffer.from('\ufeffid;Größe', 'utf16le'))];
    const result = await runBlock(engine, 'file_v3', { file: '<start.docs>' }, docs);
    expect(result.output).toMatchObject({ combinedContent: 'id;Größe' });
  });

  it.each<[description: string, fields: JsonObject]>([
    [
      'a file that the editor has stored',
      { file: [{ name: 'x', path: '/api/files/serve/x', key: 'workspace/x', size: 1 }] },
    ],
    ['a path', { file: '/etc/passwd' }],
    ['a file: URL', { file: 'file:///etc/passwd' }],
    ['a data: URL', { file: 'data:text/plain,x' }],
  ])('refuses %s', async (_description, fields) => {
    const engine = await openTenantEngine({ tenantFiles: new MemoryFiles() });
    const result = await runBlock(engine, 'file_v3', fields);
    expect(result.error).toMatchObject({ code: 'TOOL_ARGUMENTS_INVALID' });
  });

  it('fails for workspace files on a host that does not store files, and its deployment and check warn of the failure', async () => {
    const engine = await openTenantEngine();
    const fields = { operation: 'file_write', fileName: 'a.txt', content: 'x' };
    const result = await runBlock(engine, 'file_v5', fields);
    expect(result.error).toMatchObject({ code: 'FEATURE_MISSING', details: { feature: 'files' } });
    const definition = workflow(
      [block('A', 'file_v5', fields), block('B', 'file', { filePath: 'https://example.com/x' })],
      ['Start -> A', 'A -> B'],
    );
    const deployment = await engine.deploy(definition);
    const warnings = deployment.diagnostics.filter(({ code }) => code === 'FEATURE_MISSING');
    expect(warnings.map(({ message }) => message)).toEqual([
      '"A" fails when it is reached: its operation "file_write" uses workspace files, which this host does not store.',
    ]);
    const engineWithFiles = await openTenantEngine({ tenantFiles: new MemoryFiles() });
    expect(engineWithFiles.check(definition).map(({ code }) => code)).not.toContain('FEATURE_MISSING');
  });
});

describe('workspace files', () => {
  it('are written, appended to, edited, listed, moved and read by blocks of its workflows', async () => {
    const files = new MemoryFiles();
    const engine = await openTenantEngine({ tenantFiles: files });
    const fileBlock = (name: string, fields: JsonObject) => block(name, 'file_v5', fields);
    const fileBlocks = [
      fileBlock('Write', {
        operation: 'file_write',
        fileName: 'log.md',
        content: 'one',
        writeFolderPath: '/Q3%20R',
      }),
      fileBlock('Append', { operation: 'file_append', appendFileName: 'log.md', appendContent: '\ntwo' }),
      fileBlock('Edit', {
        operation: 'file_edit',
        editFileName: '<write.id>',
        oldString: 'two',
        newString: '2',
      }),
      fileBlock('Insert', {
        operation: 'file_insert',
        editFileName: 'log.md',
        folderSelection: '/Q3%20R',
        afterLine: 0,
        insertContent: 'zero',
      }),
      fileBlock('List', { operation: 'file_list', folderRecursive: true }),
      fileBlock('Move', { operation: 'file_move', moveFileId: '<write.id>', moveTargetFolderPath: '/Done' }),
      fileBlock('Read', { operation: 'file_read', folderSelection: '/Done' }),
      fileBlock('Texts', { operation: 'file_get_content', getContentFile: '<read.files>' }),
    ];
    const edges = ['Start -> Write', 'Write -> Append', 'Append -> Edit', 'Edit -> Insert'];
    const laterEdges = ['Insert -> List', 'List -> Move', 'Move -> Read', 'Read -> Texts'];
    const result = await engine.execute({ workflow: workflow(fileBlocks, [...edges, ...laterEdges]) });
    expect(result).toMatchObject({ status: 'completed', output: { contents: ['zero\none\n2'] } });
    const outputsByBlock = new Map(
      (await engine.getLogs(result.runId)).map((log) => [log.blockName, log.output]),
    );
    expect(outputsByBlock.get('Write')).toEqual({
      id: 'wf_1',
      name: 'log.md',
      size: 3,
      folderPath: '/Q3%20R',
    });
    expect(outputsByBlock.get('Edit')).toMatchObject({ id: 'wf_1', lineCount: 2 });
    expect(outputsByBlock.get('List')).toMatchObject({
      path: '/',
      truncated: false,
      entries: [
        { kind: 'folder', name: 'Q3 R', path: '/Q3%20R', depth: 1 },
        { kind: 'file', id: 'wf_1', name: 'log.md', folderPath: '/Q3%20R', depth: 2 },
      ],
    });
    expect(outputsByBlock.get('Move')).toEqual({ fileId: 'wf_1', folderPath: '/Done' });
    expect(outputsByBlock.get('Read')).toMatchObject({
      files: [{ name: 'log.md', workspaceFileId: 'wf_1' }],
    });
  });

  it('are listed up to a depth, and deeper entries do not count towards the limit', async () => {
    const files = new MemoryFiles();
    for (const folder of ['/a/b/c', '/a/b/c/d']) await files.put('mine', 'deep.md', 'x', folder);
    await files.put('mine', 'top.md', 'x', '/a');
    const engine = await openTenantEngine({ tenantFiles: files });
    const listEntries = async (fields: JsonObject) =>
      (await runBlock(engine, 'file_v5', { operation: 'file_list', folderRecursive: true, ...fields }))
        .output;
    const [a, b, top] = [{ path: '/a' }, { path: '/a/b' }, { name: 'top.md', depth: 2 }];
    expect(await listEntries({ folderDepth: 2, folderLimit: 3 })).toMatchObject({
      entries: [a, b, top],
      truncated: false,
    });
    expect(await listEntries({ folderDepth: 2, folderLimit: 2 })).toMatchObject({
      entries: [a, b],
      truncated: true,
    });
  });

  it('are listed up to a depth even if the host ignores the depth', async () => {
    const files = new MemoryFiles();
    await files.put('mine', 'deep.md', 'x', '/a/b');
    const list: MemoryFiles['list'] = (tenant, query) => files.list(tenant, { ...query, depth: Infinity });
    const engine = await openTenantEngine({ tenantFiles: files.withMethods({ list }) });
    const fields = { operation: 'file_list', folderRecursive: true, folderDepth: 1 };
    const { output } = await runBlock(engine, 'file_v5', fields);
    expect(output).toMatchObject({ entries: [{ path: '/a' }] });
  });

  it('are copied from run files with unique names, and are overwritten only if the author allows it', async () => {
    const files = new MemoryFiles();
    const engine = await openTenantEngine({ tenantFiles: files });
    const writeFields = { operation: 'file_write', fileName: 'a.csv', writeFileId: '<start.docs>' };
    const docs = [createInputFile('x.csv', 'id\n1', 'text/csv')];
    expect((await runBlock(engine, 'file_v5', writeFields, docs)).output).toMatchObject({ name: 'a.csv' });
    expect((await runBlock(engine, 'file_v5', writeFields, docs)).output).toMatchObject({
      name: 'a (1).csv',
    });
    const replaceFields = { ...writeFields, overwrite: 'true', writeFileId: null, content: 'new' };
    expect((await runBlock(engine, 'file_v4', replaceFields)).output).toMatchObject({ id: 'wf_1', size: 3 });
    expect(files.readText('mine', 'a.csv')).toBe('new');
    expect(files.readText('mine', 'a (1).csv')).toBe('id\n1');
  });

  it('of another workspace cause the same errors as unknown files, in each operation', async () => {
    const files = new MemoryFiles();
    const id = await files.put('theirs', 'secret.txt', 'Buy low.', '/Plans');
    const engine = await openTenantEngine({ tenantFiles: files });
    const createCalls = (file: string, folder: string): JsonObject[] => [
      { operation: 'file_get', getFileId: file },
      { operation: 'file_read', readFileId: file },
      { operation: 'file_read', folderSelection: folder },
      { operation: 'file_get_content', getContentFileId: file },
      { operation: 'file_parser_v3', file },
      { operation: 'file_append', appendFileName: file, appendContent: 'x' },
      { operation: 'file_edit', editFileName: file, oldString: 'Buy', newString: 'x' },
      { operation: 'file_move', moveFileId: file },
      { operation: 'file_list', folderPath: folder },
      { operation: 'file_write', fileName: 'copy.txt', writeFileId: file },
    ];
    const unknownCalls = createCalls('wf_9', '/Nosuch');
    for (const [index, fields] of createCalls(id, '/Plans').entries()) {
      const foreignResult = await runBlock(engine, 'file_v5', fields);
      const unknownResult = await runBlock(engine, 'file_v5', unknownCalls[index] ?? {});
      expect(foreignResult.error).toMatchObject({ code: 'FILE_UNKNOWN' });
      const expectedMessage = foreignResult.error?.message.replace(id, 'wf_9').replace('/Plans', '/Nosuch');
      expect(expectedMessage).toBe(unknownResult.error?.message);
    }
    expect(files.readText('theirs', 'secret.txt')).toBe('Buy low.');
    expect(files.changeCount).toBe(1);
  });

  it('are changed once if the response of the host is lost', async () => {
    const files = new MemoryFiles();
    const id = await files.put('mine', 'log.txt', 'a');
    let replaceCallCount = 0;
    const lossyFiles = files.withMethods({
      replace: async (...args) => {
        const replacedFile = await files.replace(...args);
        replaceCallCount += 1;
        if (replaceCallCount === 1) throw new Error('The connection was lost.');
        return replacedFile;
      },
    });
    const clock = new TestClock();
    const engine = await openTenantEngine({ tenantFiles: lossyFiles, clock });
    const fields = { operation: 'file_append', appendFileName: id, appendContent: 'b' };
    const resultPromise = runBlock(engine, 'file_v5', fields);
    await clock.waitForTimer(1000);
    clock.advance(1000);
    expect(await resultPromise).toMatchObject({ status: 'completed', output: { id, size: 2 } });
    expect(files.readText('mine', 'log.txt')).toBe('ab');
    expect(replaceCallCount).toBe(1);
  });

  it('keep a change that another call makes at the same time', async () => {
    const files = new MemoryFiles();
    const id = await files.put('mine', 'log.txt', 'a');
    let remainingConcurrentCalls = 1;
    const contendedFiles = files.withMethods({
      replace: async (tenant, change, key) => {
        if (remainingConcurrentCalls-- > 0) {
          const { revision = '' } = (await files.find('mine', id)) ?? {};
          const chunks = (async function* () {
            yield Buffer.from('A');
          })();
          await files.replace('mine', { id, revision, chunks }, 'another');
        }
        return files.replace(tenant, change, key);
      },
    });
    const engine = await openTenantEngine({ tenantFiles: contendedFiles });
    const fields = { operation: 'file_append', appendFileName: 'log.txt', appendContent: 'b' };
    expect(await runBlock(engine, 'file_v5', fields)).toMatchObject({ status: 'completed' });
    expect(files.readText('mine', 'log.txt')).toBe('Ab');
  });

  it.each<[description: string, fields: JsonObject, message: RegExp]>([
    [
      'an edit of a string that occurs twice',
      { operation: 'file_edit', oldString: 'a', newString: 'b' },
      /2 times, on lines 1, 3/,
    ],
    ['an edit of a missing string', { operation: 'file_edit', oldString: 'z' }, /is not in the file/],
    [
      'an insertion after a missing line',
      { operation: 'file_insert', afterLine: 9, insertContent: 'x' },
      /3 lines/,
    ],
  ])('are not changed by %s', async (_description, fields, message) => {
    const files = new MemoryFiles();
    await files.put('mine', 'log.txt', 'a\nb\na');
    const engine = await openTenantEngine({ tenantFiles: files });
    const result = await runBlock(engine, 'file_v5', { ...fields, editFileName: 'log.txt' });
    expect(result.error?.message).toMatch(message);
    expect(files.changeCount).toBe(1);
  });

  it('can have many lines, but a result has a maximum length', async () => {
    const files = new MemoryFiles();
    const repeatLine = (count: number): string => 'a b\n'.repeat(count);
    for (const name of ['a.txt', 'b.txt'])
      await files.put('mine', name, repeatLine(1000) + 'x'.repeat(4_500_000));
    const engine = await openTenantEngine({ tenantFiles: files });
    const changeFields = {
      editFileName: 'a.txt',
      insertContent: repeatLine(150_000),
      oldString: 'a',
      newString: '',
    };
    const insertResult = await runBlock(engine, 'file_v5', {
      ...changeFields,
      operation: 'file_insert',
      afterLine: 1,
    });
    expect(insertResult.output).toMatchObject({ lineCount: 151_001 });
    const editResult = await runBlock(engine, 'file_v5', { ...changeFields, operation: 'file_edit' });
    expect(editResult.error?.message).toMatch(/more than 20 times, on lines 1, 2, 3/);
    const readFields = { operation: 'file_get_content', folderSelection: '/', contentOffset: 1 };
    expect((await runBlock(engine, 'file_v5', readFields)).error).toMatchObject({ code: 'FILE_TOO_LARGE' });
  });

  it('cause a retryable error if the host fails, and the error of the host is reported', async () => {
    const reportedErrors: unknown[] = [];
    const failingFiles = new MemoryFiles().withMethods({
      list: () => {
        throw new Error('disk 7 is gone');
      },
    });
    const clock = new TestClock();
    const engine = await openTenantEngine({
      tenantFiles: failingFiles,
      clock,
      onError: (error) => reportedErrors.push(error),
    });
    const resultPromise = runBlock(engine, 'file_v5', { operation: 'file_list' });
    await clock.waitForTimer(1000);
    clock.advance(1000);
    await clock.waitForTimer(2000);
    clock.advance(2000);
    const { error } = await resultPromise;
    expect(error).toMatchObject({ code: 'FILES_UNAVAILABLE' });
    expect(error?.message).not.toContain('disk 7');
    expect(String(reportedErrors[0])).toContain('disk 7');
  });
});
