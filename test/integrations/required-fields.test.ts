import { createEngine } from '@heddle/engine';
import { blocks } from '@heddle/blocks';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseWorkflow, compile } from '@heddle/core';
import { integrationTypeInfos } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { block, workflow } from '../support/workflow.ts';

const createSendWorkflow = (type: string, fields: JsonObject) =>
  workflow([block('Send', type, fields)], ['Start -> Send']);

/** Returns the diagnostics about empty fields. */
function emptyFieldDiagnostics(type: string, fields: JsonObject) {
  const { workflow: parsedWorkflow } = parseWorkflow(createSendWorkflow(type, fields));
  if (!parsedWorkflow) throw new Error('The workflow cannot be read.');
  const { diagnostics } = compile(parsedWorkflow, { knownTypes: integrationTypeInfos() });
  return diagnostics.filter(({ code }) => code === 'FIELD_EMPTY');
}

describe('required fields of an operation', () => {
  it('are reported with the block and the command-line option that sets them, if they are empty', () => {
    expect(emptyFieldDiagnostics('slack', { operation: 'send', text: ' ' })).toEqual([
      {
        code: 'FIELD_EMPTY',
        severity: 'warning',
        blockId: 'Send',
        path: ['blocks', 'Send', 'subBlocks', 'channel', 'value'],
        message:
          '"Send" has no value in "channel" or "manualChannel" or "dmUserId" or "manualDmUserId", which its operation "send" needs.',
        hint: "Fill it in, or set it on the command line: --set 'Send.channel=VALUE'.",
      },
      expect.objectContaining({
        message: '"Send" has no value in "text", which its operation "send" needs.',
      }),
    ]);
  });

  it.each<[string, string, JsonObject]>([
    ['are set', 'slack', { operation: 'send', channel: 'C1', text: 'x' }],
    ['are set in the other field of a pair', 'slack', { operation: 'send', manualChannel: 'C1', text: 'x' }],
    [
      'come from another block',
      'slack',
      { operation: 'send', channel: '<start.channel>', text: '<start.text>' },
    ],
    ['belong to another operation', 'slack', { operation: 'list_channels' }],
    ['belong to an operation that is a reference', 'slack', { operation: '<start.what>' }],
    ['belong to an unknown operation, which has its own error', 'slack', { operation: 'fax' }],
    ['do not exist', 'google_drive', {}],
    ['belong to a block that is not an integration', 'function', { code: 'return 1' }],
  ])('are not reported if they %s', (_title, type, fields) => {
    expect(emptyFieldDiagnostics(type, fields)).toEqual([]);
  });

  it('are those of the first operation if the block names none, including for services with a client library', () => {
    expect(emptyFieldDiagnostics('slack', { channel: 'C1' })).toHaveLength(1);
    expect(emptyFieldDiagnostics('s3', { operation: 'delete_object', bucketName: 'b' })).toHaveLength(1);
  });

  it('are reported by an engine that deploys or checks the workflow', async () => {
    const engine = await createEngine({ blocks: blocks() });
    onTestFinished(() => engine.close());
    const source = createSendWorkflow('gmail_v2', { operation: 'send_gmail', to: 'a@example.com' });
    const expectedDiagnostics = [expect.objectContaining({ code: 'FIELD_EMPTY', blockId: 'Send' })];
    expect((await engine.deploy(source)).diagnostics).toEqual(expectedDiagnostics);
    expect(engine.check(source)).toEqual(expectedDiagnostics);
  });
});
