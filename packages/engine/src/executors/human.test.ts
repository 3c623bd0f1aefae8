import { describe, expect, it } from 'vitest';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { blockOf, contextOf, failureOf } from '../../../../test/support/block.ts';
import type { BlockFixture } from '../../../../test/support/block.ts';
import { humanExecutor } from './human.ts';
import { resumeOutput } from './human-resume.ts';

const inputFormat = [
  { id: 'a', name: 'approved', type: 'boolean', required: true },
  { id: 'b', name: 'note', type: 'string' },
  { id: 'c', name: 'amount', type: 'number', value: '5' },
];
const params: JsonObject = {
  inputFormat,
  builderData: [{ id: 'x', name: 'summary', type: 'string', value: '<agent.content>' }],
};
const outputs = { Agent: { content: 'All good' } };

const pause = (fixture: BlockFixture = {}): JsonObject => {
  const result = humanExecutor.execute(
    contextOf({ type: 'human_in_the_loop', name: 'Approve', params, outputs, ...fixture }),
  );
  return (result as { pause: JsonObject }).pause;
};

const resume = (input: Json, pausedOutput = pause()): JsonObject => {
  const context = {
    block: blockOf({ type: 'human_in_the_loop', name: 'Approve', params }),
    pausedOutput,
    input,
    pausedMs: 1000,
    nowMs: 61_000,
  };
  return resumeOutput(context);
};

describe('JSON text in the fields of a pause', () => {
  const hostileOutputs = { Agent: { content: '","role":"admin' } };
  const value = hostileOutputs.Agent.content;

  it('keeps its entries whatever the values contain', () => {
    const text = '[{"name": "summary", "type": "string", "value": "<agent.content>"}]';
    expect(pause({ params: { inputFormat, builderData: text }, outputs: hostileOutputs })).toMatchObject({
      response: { data: { responseStructure: [{ name: 'summary', type: 'string', value }] } },
    });
  });

  it('keeps the structure of defaults whatever the values contain', () => {
    const fields = [{ name: 'o', type: 'object', value: '{"k": "<agent.content>"}' }];
    expect(pause({ params: { inputFormat: fields }, outputs: hostileOutputs })).toMatchObject({
      o: { k: value },
    });
  });
});

describe('a human pause', () => {
  it('shows its fields with defaults, the data to review and the form (§3.10)', () => {
    expect(pause()).toEqual({
      approved: null,
      note: null,
      amount: 5,
      response: {
        data: {
          operation: 'human',
          responseStructure: [{ name: 'summary', type: 'string', value: 'All good' }],
          inputFormat,
          submission: null,
        },
        status: 200,
        headers: { 'Content-Type': 'application/json' },
      },
    });
  });

  it('has links if the engine has a resume URL, and its own fields can refer to them', () => {
    const pauseLinks = () => ({ url: 'https://x.test/r', resumeEndpoint: 'https://x.test/api/r' });
    const builderData = [{ name: 'go', type: 'string', value: 'see <approve.url>' }];
    const output = pause({ params: { builderData }, services: { pauseLinks } });
    expect(output).toMatchObject({
      url: 'https://x.test/r',
      resumeEndpoint: 'https://x.test/api/r',
      response: { data: { responseStructure: [{ value: 'see https://x.test/r' }] } },
    });
  });

  it('does not read its own output from an earlier iteration', () => {
    const fixture: BlockFixture = { params: { builderData: [{ name: 'go', value: '<approve.url>' }] } };
    const { lookup } = contextOf(fixture).services;
    const earlierLookup = { ...lookup, block: () => ({ ran: true as const, output: { url: 'old' } }) };
    expect(pause({ ...fixture, services: { lookup: earlierLookup } })).toMatchObject({
      response: { data: { responseStructure: [{ value: '' }] } },
    });
  });

  it('reports that notifications are not sent, and still pauses', () => {
    expect(pause({ params: { notification: [{ type: 'slack', title: 'Tell' }] } })).toMatchObject({
      response: {
        data: { notifications: [{ type: 'slack', status: 'failed', error: expect.any(String) as string }] },
      },
    });
  });
});

describe('resuming', () => {
  it('returns the typed submission with defaults in every documented field', () => {
    const submission = { approved: true, amount: 5, extra: [1] };
    expect(resume({ approved: 'true', extra: [1] })).toEqual({
      ...pause(),
      ...submission,
      response: {
        ...(pause()['response'] as JsonObject),
        data: { ...((pause()['response'] as JsonObject)['data'] as JsonObject), submission },
      },
      submission,
      resumeInput: { approved: 'true', extra: [1] },
      submittedAt: '1970-01-01T00:01:01.000Z',
      _resumed: true,
      _pauseDurationMs: 60_000,
    });
  });

  it.each<[string, Json]>([
    ['JSON text', '{"approved": true}'],
    ['a submission', { submission: { approved: true } }],
  ])('accepts %s', (_description, input) => {
    expect(resume(input)).toMatchObject({ approved: true, submission: { approved: true } });
  });

  it.each<[Json, JsonObject]>([
    ['just text', { value: 'just text' }],
    [[1], { value: [1] }],
    [null, {}],
  ])('wraps %j when no field is required', (input, submission) => {
    expect(resume(input, pause({ params: {} }))).toMatchObject({ submission });
  });

  it('rejects an invalid submission, and reports all invalid fields', async () => {
    const failure = await failureOf(() => resume({ note: { a: 1 }, amount: 'many' }));
    expect(failure).toMatchObject({
      code: 'RESUME_INPUT_INVALID',
      details: {
        problems: [
          { field: 'approved', problem: 'is required' },
          { field: 'note', problem: 'must be a string' },
          { field: 'amount', problem: 'must be a number' },
        ],
      },
    });
    for (const name of ['"Approve"', '"approved"', '"note"', '"amount"'])
      expect(failure.message).toContain(name);
  });

  it('does not let a submitted field replace a field of the engine', () => {
    const output = resume({ approved: true, _resumed: 'forged', submittedAt: 'forged', response: 'forged' });
    expect(output).toMatchObject({
      _resumed: true,
      submittedAt: '1970-01-01T00:01:01.000Z',
      response: { status: 200 },
    });
  });

  it('treats a key __proto__ as data', () => {
    const output = resume(JSON.parse('{"approved": true, "__proto__": {"x": 1}}') as Json);
    expect(Object.keys(output)).toContain('__proto__');
    expect(Object.getPrototypeOf(output)).toBe(Object.prototype);
  });
});
