import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { blocks } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { createEngine } from '@heddle/engine';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { toolFileOf } from '../../packages/blocks/src/integrations/integration.ts';
import type { Integration } from '../../packages/blocks/src/integrations/integration.ts';
import { codeBlocksOf, readPage, repository } from '../docs/markdown.ts';
import { block, workflow } from '../support/workflow.ts';
import { sendJson, startServer } from './tool-service.ts';

/** The integration in the section "Add an integration" of docs/tools.md. */
let integration: Integration;
let folder = '';

beforeAll(async () => {
  const [codeBlock] = codeBlocksOf('docs/tools.md', readPage('docs/tools.md')).filter(
    ({ language }) => language === 'js',
  );
  if (!codeBlock) throw new Error('docs/tools.md has no integration.');
  folder = await mkdtemp(join(tmpdir(), 'heddle-guide-'));
  const file = join(folder, 'notes.ts');
  // The page puts the file beside integration.ts, so its relative import is replaced by a URL.
  const integrationUrl = pathToFileURL(
    join(repository, 'packages/blocks/src/integrations/integration.ts'),
  ).href;
  await writeFile(file, codeBlock.text.replace('./integration.ts', integrationUrl));
  ({ integration } = (await import(pathToFileURL(file).href)) as { integration: Integration });
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Calls a tool of the integration. */
async function call(toolId: string, args: JsonObject, respond: (requestNumber: number) => object) {
  const requests: { requestLine: string; headers: NodeJS.Dict<string | string[]>; body: string }[] = [];
  const url = await startServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      requests.push({ requestLine: `${request.method} ${request.url}`, headers: request.headers, body });
      sendJson(response, respond(requests.length));
    });
  });
  const engine = await createEngine({
    blocks: blocks({ toolFiles: [toolFileOf(integration)] }),
    services: { notes: url },
    credentials: { notes: 'the-key-of-the-notes' },
  });
  onTestFinished(() => engine.close({ graceMs: 0 }));
  const definition = block('A', 'tool', { toolId, arguments: args });
  const { output, error } = await engine.execute({ workflow: workflow([definition], ['Start -> A']) });
  return { output, error, requests };
}

describe('the integration in docs/tools.md', () => {
  it('sends the described request, and returns the mapped output', async () => {
    const args = { bookId: 'a/b', title: 'T', body: '# T' };
    const { output, requests } = await call('notes_create', args, () => ({ note: { id: 'n1', url: 'u' } }));
    expect(output).toMatchObject({ data: { id: 'n1', url: 'u' } });
    expect(requests).toMatchObject([
      {
        requestLine: 'POST /v1/books/a%2Fb/notes',
        headers: {
          authorization: 'Bearer the-key-of-the-notes',
          'idempotency-key': expect.stringMatching(/.{8,}/) as string,
        },
        body: '{"title":"T","content":{"markdown":"# T"}}',
      },
    ]);
  });

  it('reads all pages, and returns the kind of a service failure', async () => {
    const { output, requests } = await call('notes_list', { bookId: 'b', limit: 1 }, (callNumber) => ({
      notes: callNumber < 3 ? [{ callNumber }] : [],
    }));
    expect(output).toMatchObject({ data: { notes: [{ callNumber: 1 }, { callNumber: 2 }] } });
    expect(requests.map(({ requestLine }) => requestLine.split('?')[1])).toEqual([
      'limit=1',
      'limit=1&page=2',
      'limit=1&page=3',
    ]);
    const failedCall = await call('notes_list', { bookId: 'b' }, () => ({
      error: { code: 'NOTE_LOCKED', message: 'The note is locked' },
    }));
    expect(failedCall.error).toMatchObject({ details: { kind: 'conflict', reason: 'The note is locked' } });
  });
});
