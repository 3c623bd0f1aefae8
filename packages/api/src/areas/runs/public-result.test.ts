import type { Json } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { errorIn, createTestApi } from '../../../../../test/support/api.ts';
import {
  APPROVAL_WORKFLOW,
  FAILING_WORKFLOW,
  GREETING_WORKFLOW,
} from '../../../../../test/support/api-workflows.ts';
import { ECHO_WORKFLOW, FILE } from '../../../../../test/support/api-files.ts';
import { block, fn, loop, workflow } from '../../../../../test/support/workflow.ts';
import { toPublicRefusal, toPublicResult } from './public-result.ts';
import type { RunResult } from './schemas.ts';

const api = await createTestApi({ publicInputLimits: { values: 100 } });
const { call, fetch } = api;

const LOGGING_BLOCK = fn('Say', 'console.log("from the console"); return {answer: 42}');

async function publish(definition: Json): Promise<string> {
  const path = `/api/v2/workflows/${await api.deploy(definition)}`;
  await call('PATCH', `${path}/deployment`, { body: { isPublicApi: true } });
  return path;
}

/** Returns the responses of every mode to an anonymous caller, as text. */
async function fetchAnonymousResponses(
  path: string,
  input: { [name: string]: Json } = {},
): Promise<string[]> {
  const modes = [
    { body: { input } },
    { body: { input, stream: true } },
    { body: { input }, headers: { Accept: 'application/x-ndjson' } },
  ];
  const texts: string[] = [];
  for (const mode of modes) {
    const response = await fetch('POST', `${path}/execute`, { key: null, ...mode });
    expect(response.status).toBe(200);
    texts.push(await response.text());
  }
  return texts;
}

describe('without a credential', () => {
  it('the output of code has no console output', async () => {
    const loopBlock = loop('Each', { loopType: 'for', iterations: 2 }, LOGGING_BLOCK);
    for (const definition of [
      workflow([LOGGING_BLOCK], ['Start -> Say']),
      workflow([loopBlock], ['Start -> Each', 'Each -> Say']),
    ]) {
      for (const text of await fetchAnonymousResponses(await publish(definition))) {
        expect(text).toContain('"answer":42');
        expect(text).not.toContain('console');
      }
    }
  });

  it('the output of a child has no console output', () => {
    const child = { result: 1, stdout: 'b' };
    const output = { success: true, childWorkflowId: 'w', childWorkflowName: 'W', result: child };
    expect(toPublicResult(createRunResult({ output })).output).toEqual({ ...output, result: { result: 1 } });
  });

  it('the output of a Response block is unchanged', async () => {
    const reply = block('Reply', 'response', { dataMode: 'json', data: '{"stdout": "said on purpose"}' });
    for (const text of await fetchAnonymousResponses(await publish(workflow([reply], ['Start -> Reply']))))
      expect(text).toContain('said on purpose');
  });

  it('a failure is a fixed message, without blocks, values and addresses', async () => {
    const secret = 'postgres.internal:5432';
    const query = fn('Query', `throw new Error("${secret}")`);
    const failingWorkflows = [FAILING_WORKFLOW, workflow([query], ['Start -> Query'])];
    for (const definition of failingWorkflows) {
      for (const text of await fetchAnonymousResponses(await publish(definition))) {
        expect(text).toContain('A block of the workflow failed.');
        expect(text).not.toMatch(/127\.0\.0\.1|internal|Fetch|Query|details|stack/);
      }
    }
  });

  it('a failure has its code and the run id', async () => {
    const { data } = await call<RunResult>('POST', `${await publish(FAILING_WORKFLOW)}/execute`, {
      key: null,
      body: {},
    });
    expect(data).toMatchObject({ runId: expect.any(String), status: 'failed', output: {} });
    expect(data.error).toEqual({
      code: 'BLOCK_EXECUTION_FAILED',
      message: 'A block of the workflow failed.',
    });
  });

  it('a paused run shows neither its blocks nor its tokens', async () => {
    for (const text of await fetchAnonymousResponses(await publish(APPROVAL_WORKFLOW))) {
      expect(text).toContain('paused');
      expect(text).not.toMatch(/resume|context|_pause|"ok"/i);
    }
  });

  it.each([
    { selectedOutputs: ['Reply.data'] },
    { selectedOutputs: ['Ghost'] },
    { selectedOutputs: [] },
    { stopAfterBlockId: 'Words' },
    { stopAfterBlockId: 'Ghost' },
    { stream: true, selectedOutputs: ['Ghost'] },
  ])('%j is refused without naming a block', async (body) => {
    const response = await call('POST', `${await publish(GREETING_WORKFLOW)}/execute`, { key: null, body });
    expect([response.status, errorIn(response.body)]).toEqual([
      400,
      {
        code: 'BAD_REQUEST',
        message: 'selectedOutputs and stopAfterBlockId require an OAuth access token or API key',
      },
    ]);
  });

  it('an unknown start block, or one that is not a trigger, is refused without naming blocks', async () => {
    const path = await publish(GREETING_WORKFLOW);
    for (const blockId of ['Ghost', 'Words']) {
      const run = { source: 'deployment', entry: { type: 'trigger', blockId } };
      const response = await call('POST', `${path}/execute`, { key: null, body: { run } });
      expect([response.status, errorIn(response.body).message]).toEqual([
        400,
        'The workflow does not take this input.',
      ]);
    }
  });

  it('a file that cannot be stored reveals nothing about its URL', async () => {
    const doc = { type: 'url', name: 'x', data: 'http://169.254.169.254/latest' };
    const response = await call('POST', `${await publish(ECHO_WORKFLOW)}/execute`, {
      key: null,
      body: { input: { doc } },
    });
    expect([response.status, errorIn(response.body).message]).toEqual([
      400,
      'The workflow does not take this input.',
    ]);
  });

  it('inputs have their own limits: bytes, values, files', async () => {
    const path = await publish(ECHO_WORKFLOW);
    const send = (input: object, key?: null) =>
      call('POST', `${path}/execute`, { body: { input }, ...(key === null && { key }) });
    for (const [input, status] of [
      [{ any: { text: 'x'.repeat(1024 * 1024) } }, 413],
      [{ any: { list: Array.from({ length: 100 }, () => 0) } }, 413],
      [{ doc: Array.from({ length: 6 }, () => FILE) }, 400],
    ] as const) {
      expect((await send(input, null)).status).toBe(status);
      expect((await send(input)).status).toBe(200);
    }
  });
});

it('every caller has a limit on values', async () => {
  const path = `/api/v2/workflows/${await api.deploy(GREETING_WORKFLOW)}/execute`;
  const list = Array.from({ length: 500_000 }, () => 0);
  expect(await call('POST', path, { body: { input: { list } } })).toMatchObject({
    status: 413,
    body: { error: { message: 'Request body has more than 500000 values' } },
  });
});

it('a call of the host without a principal has the same limits', async () => {
  const path = { workflowId: (await publish(GREETING_WORKFLOW)).split('/').at(-1) ?? '' };
  const { executeWorkflow } = api.api.operations;
  const run = (input: { [name: string]: Json }) =>
    executeWorkflow({ principal: undefined, path, body: { input } });
  await expect(run({ text: 'x'.repeat(1024 * 1024) })).rejects.toMatchObject({ status: 413 });
  await expect(run({ list: Array.from({ length: 100 }, () => 0) })).rejects.toMatchObject({ status: 413 });
});

it('an internal error stays unchanged', () => {
  const internalError = new Error('an internal error');
  expect(toPublicRefusal(internalError)).toBe(internalError);
});

function createRunResult(fields: Partial<RunResult>): RunResult {
  const times = { startedAt: null, endedAt: null, durationMs: null };
  return {
    ...{ runId: 'r', workflowId: 'w', status: 'completed', output: null, blockOutputs: null, error: null },
    ...times,
    ...fields,
  };
}
