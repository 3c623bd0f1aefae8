import type { Json, JsonObject } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { callsIn, startModelWithCalls } from '../conformance/runtime/workflow-tools.ts';
import { MemoryFiles } from '../support/tenant-files.ts';
import { block, workflow } from '../support/workflow.ts';
import { openTenantEngine, startWebServer } from './setup.ts';

const propertiesOf = (toolDefinition: JsonObject | undefined): object =>
  (toolDefinition as { parameters: { properties: object } } | undefined)?.parameters.properties ?? {};

describe('file tools of an agent', () => {
  /** Runs an agent that has these tools and whose model makes these calls. */
  async function runAgent(tools: JsonObject[], calls: { name: string; args: Json }[], options: object = {}) {
    const model = await startModelWithCalls(calls);
    const engine = await openTenantEngine({ ...model.options, ...options });
    const messages = [{ role: 'user', content: 'Go.' }];
    const agent = block('A', 'agent', { model: 'local/scripted', messages, tools });
    const result = await engine.execute({ workflow: workflow([agent], ['Start -> A']) });
    return { result, toolDefinitions: model.toolDefinitions() };
  }
  const tool = (operation: string, params: JsonObject = {}): JsonObject => ({
    type: 'file_v5',
    operation,
    params,
  });

  it('write files only in the folder that the author has chosen', async () => {
    const files = new MemoryFiles();
    const { result, toolDefinitions } = await runAgent(
      [tool('file_write', { writeFolderPath: '/Agents' }), tool('file_get_content')],
      [{ name: 'file_write', args: { fileName: 'a.md', content: 'hi', folderPath: '/Elsewhere' } }],
      { tenantFiles: files },
    );
    expect(result).toMatchObject({ status: 'completed' });
    const propertyNames = Object.keys(propertiesOf(toolDefinitions[0]));
    expect(propertyNames).not.toContain('folderPath');
    expect(callsIn(result.output)).toMatchObject([{ success: false }]);
    const secondRun = await runAgent(
      [tool('file_write', { writeFolderPath: '/Agents' })],
      [{ name: 'file_write', args: { fileName: 'a.md', content: 'hi' } }],
      { tenantFiles: files },
    );
    expect(callsIn(secondRun.result.output)).toMatchObject([
      { success: true, result: { folderPath: '/Agents' } },
    ]);
  });

  it('cannot reach private addresses, paths of the host, or files of another workspace', async () => {
    const files = new MemoryFiles();
    const foreignFileId = await files.put('theirs', 'secret.txt', 'Buy low.');
    const forgedFile = { id: 'x', name: 'x', size: 1, type: 'text/plain', key: `sha256:${'0'.repeat(64)}` };
    const readCall = (file: Json) => ({ name: 'file_get_content', args: { file } });
    const writeCall = (args: JsonObject) => ({ name: 'file_write', args: { content: 'x', ...args } });
    const hostileCalls: [call: { name: string; args: Json }, message: RegExp][] = [
      [{ name: 'file_fetch', args: { fileUrl: 'http://169.254.169.254/latest/meta-data/' } }, /169\.254/],
      [{ name: 'file_fetch', args: { fileUrl: 'http://127.0.0.1:1/' } }, /127\.0\.0\.1/],
      [{ name: 'file_fetch', args: { fileUrl: 'file:///etc/passwd' } }, /http:\/\//],
      [{ name: 'file_fetch', args: { fileUrl: 'http://x.example/', headers: { Host: 'y' } } }, /schema/],
      [readCall('http://127.0.0.1:1/'), /127\.0\.0\.1/],
      [readCall('file:///etc/passwd'), /http:\/\//],
      [readCall('/etc/passwd'), /neither a URL nor the id/],
      [readCall('..\\..\\x'), /neither a URL nor the id/],
      [readCall(foreignFileId), /has no file "wf_1"/],
      [readCall(forgedFile), /has no file "x"/],
      [writeCall({ fileName: '../../etc/cron.d/x' }), /file name/],
      [writeCall({ fileName: 'a.txt', folderPath: '/a/../../b' }), /has an invalid folder/],
      [writeCall({ fileName: 'a.txt', folderPath: '/a/%2e%2E/b' }), /has an invalid folder/],
      [writeCall({ fileName: 'a.txt', folderPath: '/a%2Fb' }), /has an invalid folder/],
      [writeCall({ fileName: 'a.txt', folderPath: 'C:\\x' }), /has an invalid folder/],
      [writeCall({ fileName: 'a.txt', tenant: 'theirs' }), /schema/],
      [{ name: 'file_append', args: { file: foreignFileId, content: 'x' } }, /has no file "wf_1"/],
    ];
    const { result } = await runAgent(
      ['file_fetch', 'file_get_content', 'file_write', 'file_append'].map((name) => tool(name)),
      hostileCalls.map(([call]) => call),
      { tenantFiles: files },
    );
    const calls = callsIn(result.output);
    expect(calls.map(({ success }) => success)).toEqual(hostileCalls.map(() => false));
    for (const [index, [, message]] of hostileCalls.entries()) expect(calls[index]?.result).toMatch(message);
    expect(JSON.stringify(calls)).not.toContain('Buy low');
    expect(files.changeCount).toBe(1);
  });

  it('send headers that the author has set only to a URL that the author has set', async () => {
    const webServer = await startWebServer({ '/a.txt': 'yes' });
    const headers = { Authorization: 'Bearer of-the-author' };
    const runWithoutUrl = await runAgent(
      [tool('file_fetch', { headers })],
      [{ name: 'file_fetch', args: { fileUrl: `${webServer.url}/stolen` } }],
      webServer.egressOptions,
    );
    expect(runWithoutUrl.result.error).toMatchObject({ code: 'BLOCK_CONFIG_INVALID' });
    expect(runWithoutUrl.result.error?.message).toContain('but not "fileUrl"');
    const runWithUrl = await runAgent(
      [tool('file_fetch', { headers, fileUrl: `${webServer.url}/a.txt` })],
      [{ name: 'file_fetch', args: {} }],
      webServer.egressOptions,
    );
    expect(callsIn(runWithUrl.result.output)).toMatchObject([
      { success: true, result: { combinedContent: 'yes' } },
    ]);
    expect(webServer.requests.map(({ path, headers: { authorization } }) => [path, authorization])).toEqual([
      ['/a.txt', 'Bearer of-the-author'],
    ]);
  });
});
