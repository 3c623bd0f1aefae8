import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { sanitize } from './sanitize.ts';

/** A graph with one block whose fields are `[key, type, value]`. */
function graphOf(type: string, fields: [string, string, Json][], blockProperties: JsonObject = {}) {
  const subBlocks = Object.fromEntries(
    fields.map(([key, fieldType, value]): [string, Json] => [key, { id: key, type: fieldType, value }]),
  );
  return {
    blocks: { b: { id: 'b', type, name: 'Block', subBlocks, ...blockProperties } as JsonObject },
    edges: [],
    variables: {},
  };
}

function valuesOf(
  type: string,
  fields: [string, string, Json][],
  keepBindings = false,
): { [key: string]: Json } {
  const { graph } = sanitize(graphOf(type, fields), { keepBindings });
  const { subBlocks } = graph.blocks['b'] as { subBlocks: { [key: string]: { value: Json } } };
  return Object.fromEntries(Object.entries(subBlocks).map(([key, { value }]) => [key, value]));
}

describe('sanitize', () => {
  it('clears credentials, passwords and rows of tables, with and without bindings', () => {
    const fields: [string, string, Json][] = [
      ['credential', 'oauth-input', 'cred-1'],
      ['manualCredential', 'short-input', 'cred-1'],
      ['vertexCredential', 'short-input', 'cred-1'],
      ['anything', 'password', 'hunter2'],
      ['botToken', 'short-input', 'abc'],
      ['headers', 'table', [{ id: '1', cells: { Key: 'X', Value: '{{V}}' } }]],
      ['webhookId', 'short-input', 'w1'],
    ];
    const allCleared = Object.fromEntries(fields.map(([key]) => [key, null]));
    expect(valuesOf('slack', fields)).toEqual(allCleared);
    expect(valuesOf('slack', fields, true)).toEqual(allCleared);
  });

  it('clears selected resources of the workspace, unless bindings are requested', () => {
    const fields: [string, string, Json][] = [
      ['channel', 'channel-selector', 'C1'],
      ['knowledgeBaseId', 'short-input', 'kb-1'],
      ['documentId', 'document-selector', 'd-1'],
      ['tableSelector', 'table-selector', 't-1'],
      ['folderId', 'short-input', 'f-1'],
      ['workflowId', 'workflow-selector', 'w-1'],
      ['files', 'file-upload', [{ key: 'k', name: 'n' }]],
    ];
    expect(valuesOf('x', fields)).toEqual(Object.fromEntries(fields.map(([key]) => [key, null])));
    expect(valuesOf('x', fields, true)).toEqual(
      Object.fromEntries(fields.map(([key, , value]) => [key, value])),
    );
  });

  it('keeps text that is only a reference or placeholder', () => {
    const fields: [string, string, Json][] = [
      ['credential', 'oauth-input', '<pick.credential>'],
      ['apiKey', 'short-input', '{{KEY}}'],
      ['channel', 'channel-selector', '{{CHANNEL}}'],
    ];
    expect(valuesOf('slack', fields)).toEqual({
      credential: '<pick.credential>',
      apiKey: '{{KEY}}',
      channel: '{{CHANNEL}}',
    });
  });

  it('keeps ids of other services, such as a table of another product', () => {
    expect(valuesOf('airtable', [['tableId', 'short-input', 'tbl1']])).toEqual({ tableId: 'tbl1' });
  });

  it('clears secrets and references in the parameters of tools, including JSON text', () => {
    const tools = [
      { type: 'slack', params: { credential: 'c', apiKey: 'k', channelId: 'C1', text: 'hi' } },
      { type: 'knowledge', params: { knowledgeBaseId: 'kb', documentId: 'd' } },
      { type: 'mcp', params: { serverId: 's', toolName: 't' } },
      'odd',
    ];
    const expected = (keepBindings: boolean) => [
      {
        type: 'slack',
        params: { credential: null, apiKey: null, channelId: keepBindings ? 'C1' : null, text: 'hi' },
      },
      {
        type: 'knowledge',
        params: { knowledgeBaseId: keepBindings ? 'kb' : null, documentId: keepBindings ? 'd' : null },
      },
      { type: 'mcp', params: { serverId: 's', toolName: 't' } },
      'odd',
    ];
    expect(valuesOf('agent', [['tools', 'tool-input', tools]])).toEqual({ tools: expected(false) });
    expect(valuesOf('agent', [['tools', 'tool-input', tools]], true)).toEqual({ tools: expected(true) });
    const text = valuesOf('agent', [['tools', 'short-input', JSON.stringify(tools)]]);
    expect(text).toEqual({ tools: JSON.stringify(expected(false)) });
  });

  it('removes the URLs of files that it keeps', () => {
    const file = { key: 'k', name: 'n', url: 'https://files.test/?sig=1' };
    expect(valuesOf('x', [['files', 'file-upload', [file]]], true)).toEqual({
      files: [{ key: 'k', name: 'n' }],
    });
    expect(valuesOf('x', [['file', 'file-upload', file]], true)).toEqual({ file: { key: 'k', name: 'n' } });
  });

  it('clears secrets in data, variables and metadata', () => {
    const { graph } = sanitize({
      ...graphOf('loop', [], { data: { collection: `["sk-${'a1'.repeat(20)}"]`, apiToken: 'x' } }),
      variables: { v: { id: 'v', name: 'password', type: 'string', value: 'hunter2' } },
      metadata: { apiKey: 'k', title: 't' },
    });
    expect(graph.blocks['b']).toMatchObject({ data: { collection: '[null]', apiToken: null } });
    expect(graph.variables).toEqual({ v: { id: 'v', name: 'password', type: 'string', value: null } });
    expect(graph.metadata).toEqual({ apiKey: null, title: 't' });
  });

  it('lists the fields that it cleared, and drops malformed ones with a warning', () => {
    const source = graphOf('slack', [
      ['credential', 'oauth-input', 'c'],
      ['botToken', 'short-input', ''],
      ['undefined', 'short-input', 'x'],
      ['odd', 'unknown', 'x'],
    ]);
    const { clearedFields, warnings, graph } = sanitize(source);
    expect(clearedFields).toEqual([{ blockId: 'b', blockName: 'Block', key: 'credential' }]);
    expect(warnings).toHaveLength(2);
    expect(Object.keys((graph.blocks['b'] as { subBlocks: object }).subBlocks)).toEqual([
      'credential',
      'botToken',
    ]);
  });

  it('does not change its input, and changes nothing the second time', () => {
    const source = graphOf('slack', [
      ['credential', 'oauth-input', 'c'],
      ['text', 'long-input', `Bearer abc${'0'.repeat(20)}`],
    ]);
    const originalSource = structuredClone(source);
    const sanitizedGraph = sanitize(source).graph;
    expect(source).toEqual(originalSource);
    expect(sanitize(sanitizedGraph).graph).toEqual(sanitizedGraph);
  });
});
