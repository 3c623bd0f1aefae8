import type { Json } from '@heddle/core';
import { filesIn } from '@heddle/core/files';
import { describe, expect, it } from 'vitest';
import { block, workflow } from '../../support/workflow.ts';
import type { MakeRuntime } from './runtime-under-test.ts';

const FORMAT = { inputFormat: [{ name: 'doc', type: 'file[]' }] };
const CONTENT_BASE64 = 'YWJj';
const FILE = { type: 'file', name: 'abc.txt', data: `data:text/plain;base64,${CONTENT_BASE64}` };

/** Returns a workflow that responds with the content of the first file of its input. */
const readingWorkflow = (id: string): Json =>
  workflow(
    [block('Read', 'response', { dataMode: 'json', data: '{"text": "<start.doc[0].base64>"}' })],
    ['Start -> Read'],
    { id, name: id, ...FORMAT },
  );

/** Returns a workflow that passes the files of its input to a child. */
const passingWorkflow = (id: string, child: string): Json =>
  workflow(
    [
      block('W', 'workflow_input', { workflowId: child, inputMapping: '{"doc": <start.doc>}' }),
      block('Reply', 'response', { dataMode: 'json', data: '{"text": "<w.result.data.text>"}' }),
    ],
    ['Start -> W -> Reply'],
    { id, name: id, ...FORMAT },
  );

/** Defines the tests of files of tenants; the id of a workflow begins with its tenant. */
export function describeFiles(makeRuntime: MakeRuntime): void {
  describe('files', () => {
    it('a file record gives access to the file only in runs of the tenant that owns it, and is plain data in other runs', async () => {
      const engine = await makeRuntime().open({ tenant: (id) => id.split('-', 1)[0] });
      for (const definition of [
        readingWorkflow('a-read'),
        readingWorkflow('b-read'),
        passingWorkflow('a-pass', 'a-read'),
        passingWorkflow('b-pass', 'b-read'),
      ])
        await engine.deploy(definition);
      const input = await engine.storeFiles('a-read', { doc: FILE });
      const [file] = filesIn(input);
      if (!file) throw new Error('There is no file.');
      const runAndReadText = async (id: string): Promise<[text: Json, runId: string]> => {
        const { output, runId } = await engine.execute(id, input);
        return [(output as { data: { text: Json } }).data.text, runId];
      };
      const [ownText, runId] = await runAndReadText('a-read');
      const [foreignText, foreignRunId] = await runAndReadText('b-read');
      expect([ownText, foreignText]).toEqual([CONTENT_BASE64, '']);
      expect([(await runAndReadText('a-pass'))[0], (await runAndReadText('b-pass'))[0]]).toEqual([
        CONTENT_BASE64,
        '',
      ]);
      expect(await (await engine.fileReader(runId))(file)).toBe(CONTENT_BASE64);
      expect(await (await engine.fileReader(foreignRunId))(file)).toBeUndefined();
    });
  });
}
