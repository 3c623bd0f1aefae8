import { describe, expect, it } from 'vitest';
import { start, workflowFile } from '../../../../test/support/workflow-file.ts';
import type { Json } from '../json.ts';
import { parseWorkflow } from '../schema/parse.ts';
import { compile } from './compile.ts';
import { readPlan } from './read-plan.ts';

const result = compile(parseWorkflow(workflowFile({ blocks: { s: start() } })).workflow!);
const plan = JSON.parse(JSON.stringify(result.ok && result.plan)) as { [key: string]: Json };

describe('a stored plan', () => {
  it('is equal after reading', () => {
    expect(result.ok && readPlan(plan)).toEqual(result.ok && result.plan);
  });

  it.each<[string, Json, RegExp]>([
    ['a list', [], /not a plan/],
    ['null', null, /not a plan/],
    ['a newer format', { ...plan, format: 2 }, /has format version 2, but this engine supports 1/],
    ['another state machine', { ...plan, machine: 0 }, /has state machine version 0/],
    ['an incomplete plan', { format: 1, machine: 1, start: 's' }, /has no hash, workflow, skeleton/],
  ])('is rejected if it is %s', (_, json, message) => {
    expect(() => readPlan(json)).toThrow(
      expect.objectContaining({ code: 'PLAN_FORMAT_UNSUPPORTED', message: expect.stringMatching(message) }),
    );
  });
});
