import type { Json, JsonObject } from '@heddle/core/blocks';
import { describe, expect, it } from 'vitest';
import type { Context } from '../define.ts';
import { Approvals } from './approvals.ts';

const CALL = { id: '1.1', name: 'pay', arguments: { to: 'ada' }, parameters: {} };

/** Returns a context with these answers, whose steps are stored in `steps`. */
function contextOf(answers: Json[], steps: Map<string, Json> = new Map()): Context {
  return {
    answers: async () => answers,
    step: async (key: string, work: () => Json) => {
      const result = steps.get(key) ?? work();
      steps.set(key, result);
      return structuredClone(result);
    },
  } as unknown as Context;
}

describe('approvals of an agent', () => {
  it('record the calls that a pause shows, and compare its answer with them', async () => {
    const steps = new Map<string, Json>();
    const approvalsBeforeAnswer = await Approvals.load(contextOf([], steps));
    expect(approvalsBeforeAnswer.decisionOf(CALL)).toBeUndefined();
    expect(await approvalsBeforeAnswer.ask([CALL])).toEqual({ calls: [CALL] });
    // Other calls in a repeated attempt change nothing: a person may already see the first calls.
    expect(await approvalsBeforeAnswer.ask([{ ...CALL, arguments: { to: 'eve' } }])).toEqual({
      calls: [CALL],
    });
    const approvalsAfterAnswer = await Approvals.load(contextOf([{ decision: 'approve' }], steps));
    expect(approvalsAfterAnswer.decisionOf(CALL)).toEqual({ decision: { decision: 'approve' }, call: CALL });
    expect(approvalsAfterAnswer.decisionOf({ id: '1.1', name: 'refund' })).toBeUndefined();
    expect(approvalsAfterAnswer.decisionOf({ id: '1.2', name: 'pay' })).toBeUndefined();
  });

  it.each<[reason: string, answer: Json]>([
    ['is not a decision', 'yes'],
    ['names a call that was not shown', { decisions: { '2.1': { decision: 'approve' } } }],
    ['is partly invalid', { decisions: { '1.1': { decision: 'approve' }, '2.1': { decision: 'approve' } } }],
  ])('ask again after an unchecked answer that %s', async (_why, answer) => {
    const steps = new Map<string, Json>([['approval 1', { calls: [CALL] }]]);
    const approvals = await Approvals.load(contextOf([answer], steps));
    expect(approvals.decisionOf(CALL)).toBeUndefined();
    const pause = (await approvals.ask([CALL])) as JsonObject;
    expect(pause).toEqual({ calls: [CALL], problem: expect.any(String) });
    const approvalsAfterDenial = await Approvals.load(contextOf([answer, { decision: 'deny' }], steps));
    expect(approvalsAfterDenial.decisionOf(CALL)).toMatchObject({ decision: { decision: 'deny' } });
  });

  it('ignore the answer to a pause that was never recorded', async () => {
    const approvals = await Approvals.load(contextOf([{ decision: 'approve' }]));
    expect(approvals.decisionOf(CALL)).toBeUndefined();
  });
});
