import type { BlockConfig, Json, JsonObject } from '@heddle/core/blocks';
import { describe, expect, it } from 'vitest';
import { validateAnswer, problemOfEdit } from './approval-answer.ts';

const PARAMETERS = {
  type: 'object',
  properties: { to: { type: 'string' }, amount: { type: 'number' } },
  required: ['to'],
  additionalProperties: false,
};
const pauseOutput = {
  calls: [
    { id: '1.1', name: 'pay', arguments: { to: 'ada', amount: 1 }, parameters: PARAMETERS },
    { id: '1.3', name: 'note', arguments: { text: 'Dear {{name}}' }, parameters: { type: 'object' } },
  ],
};
const block = { name: 'A' } as BlockConfig;

function checkAnswer(input: Json, pause: JsonObject = pauseOutput): JsonObject {
  return validateAnswer({ block, pausedOutput: pause, input, pausedMs: 0, nowMs: 0 });
}

function answerWithEdit(editedArguments: Json, id = '1.3'): Json {
  return { decisions: { [id]: { decision: 'edit', arguments: editedArguments } } };
}

function nestedObject(depth: number): JsonObject {
  let value: JsonObject = {};
  for (let level = 1; level < depth; level++) value = { a: value };
  return value;
}

describe('the answer to a pause of an agent', () => {
  it('has a decision for each shown call if one decision is for all calls', () => {
    expect(checkAnswer({ decision: 'approve' })).toEqual({
      decisions: { '1.1': { decision: 'approve' }, '1.3': { decision: 'approve' } },
    });
    const denial = { decision: 'deny', reason: 'Not today.' };
    expect(checkAnswer(denial)).toEqual({ decisions: { '1.1': denial, '1.3': denial } });
  });

  it('may decide about some calls, and may edit a single call without its id', () => {
    const partialAnswer = {
      decisions: { '1.3': { decision: 'edit', arguments: { text: 'Hello {{name}}' } } },
    };
    expect(checkAnswer(partialAnswer)).toEqual(partialAnswer);
    const singleCallPause = { calls: pauseOutput.calls.slice(0, 1) };
    const editedAnswer = { decision: 'edit', arguments: { to: 'bob' } };
    expect(checkAnswer(editedAnswer, singleCallPause)).toEqual({ decisions: { '1.1': editedAnswer } });
  });

  it.each<[reason: string, input: Json, message: RegExp]>([
    ['is empty', {}, /use {"decision": "approve"}/],
    ['is a string', 'approve', /use {"decision": "approve"}/],
    ['decides about no call', { decisions: {} }, /"decisions" is empty/],
    ['has other fields', { decisions: {}, all: true }, /use {"decision": "approve"}/],
    [
      'names a call that does not wait',
      { decisions: { '1.2': { decision: 'approve' } } },
      /no call "1\.2" waits here, only 1\.1, 1\.3/,
    ],
    [
      'names a call of another pause',
      { decisions: { '1.1': { decision: 'approve' }, '2.1': { decision: 'approve' } } },
      /no call "2\.1" waits/,
    ],
    [
      'has the key "__proto__"',
      JSON.parse('{"decisions": {"__proto__": {"decision": "approve"}}}') as Json,
      /no call "__proto__" waits/,
    ],
    [
      'has an inherited key',
      { decisions: { constructor: { decision: 'approve' } } },
      /no call "constructor" waits/,
    ],
    [
      'has an unknown decision',
      { decisions: { '1.1': { decision: 'maybe' } } },
      /call 1\.1: its decision is neither/,
    ],
    ['has no decision', { decisions: { '1.1': null } }, /call 1\.1: its decision is neither/],
    ['edits all calls', { decision: 'edit', arguments: {} }, /an edit names its call/],
    [
      'edits without arguments',
      { decisions: { '1.1': { decision: 'edit' } } },
      /call 1\.1: its edit needs "arguments"/,
    ],
    ['edits with a list', answerWithEdit([1]), /call 1\.3: its edit needs "arguments"/],
    [
      'approves with arguments',
      { decisions: { '1.1': { decision: 'approve', arguments: {} } } },
      /call 1\.1: Unrecognized key: "arguments"/,
    ],
    [
      'changes the tool',
      { decisions: { '1.1': { decision: 'edit', name: 'refund', arguments: { to: 'ada' } } } },
      /call 1\.1: Unrecognized key: "name"/,
    ],
    [
      'has a long reason',
      { decision: 'deny', reason: 'x'.repeat(2001) },
      /its reason has more than 2000 characters/,
    ],
    [
      'has arguments that do not match the schema',
      answerWithEdit({ amount: 1 }, '1.1'),
      /the arguments of call 1\.1 do not match the schema: .*to/,
    ],
    [
      'adds an argument',
      answerWithEdit({ to: 'ada', admin: true }, '1.1'),
      /the arguments of call 1\.1 do not match the schema: .*admin/,
    ],
    [
      'has arguments with the key "__proto__"',
      answerWithEdit(JSON.parse('{"a": [{"__proto__": {"admin": true}}]}') as Json),
      /the arguments of call 1\.3 have a key "__proto__"/,
    ],
    [
      'has a new placeholder',
      answerWithEdit({ text: 'Bearer {{TOKEN}}' }),
      /contain {{TOKEN}}, which is not filled in here/,
    ],
    ['has a new placeholder in a key', answerWithEdit({ '{{TOKEN}}': 1 }), /contain {{TOKEN}}/],
    [
      'has a reference',
      answerWithEdit({ text: ' <start.key> ' }),
      /contain <start\.key>, which is not filled in here/,
    ],
    ['has the replacement of a secret', answerWithEdit({ text: '«redacted:TOKEN»' }), /contain a secret/],
    ['is huge', answerWithEdit({ text: 'x'.repeat(1_000_001) }), /have more than 1000000 characters/],
    [
      'has a huge number of values',
      answerWithEdit({ list: Array.from({ length: 1_000_001 }, () => 0) }),
      /have more than 1000000/,
    ],
    ['is nested deeply', answerWithEdit(nestedObject(10_000)), /nested more than 100 levels/],
  ])('is refused if it %s', (_why, input, message) => {
    expect(() => checkAnswer(input)).toThrow(expect.objectContaining({ code: 'RESUME_INPUT_INVALID' }));
    expect(() => checkAnswer(input)).toThrow(message);
  });

  it('is refused with at most ten problems, and with only the beginning of long ids', () => {
    const decisions = Object.fromEntries(
      Array.from({ length: 1000 }, (_, index) => [`${index}${'x'.repeat(1000)}`, {}]),
    );
    expect(() => checkAnswer({ decisions })).toThrow(/^.{1,600}$/);
  });

  it('may have text that only looks like a reference', () => {
    const text = 'See <example.org>, <b>{{name}}</b> and {x}';
    expect(problemOfEdit({ text }, { text: '{{name}}' })).toBeUndefined();
  });
});
