import { describe, expect, it } from 'vitest';
import { compilePlan } from '../../../../test/support/compile-plan.ts';
import { block, condition, fn, loop } from '../../../../test/support/workflow.ts';
import { declaredInputs, envNames, findBlock } from './plan-queries.ts';

const plan = compilePlan(
  [
    block('My Block', 'work', { deep: { list: ['{{B}}'] } }),
    condition('C', { yes: '{{D}} > 1', no: '' }),
    loop('L', { loopType: 'while', whileCondition: '{{E}} == 1' }, fn('F', 'return {{A}}')),
  ],
  ['Start -> My Block -> C', 'C:yes -> L -> F'],
  { inputFormat: [{ id: '1', name: 'topic', type: 'string' }] },
);

describe('queries on a plan', () => {
  it('return the environment values that its blocks use, at any depth', () => {
    expect(envNames(plan)).toEqual(['A', 'B', 'D', 'E']);
  });

  it('return the inputs that its start block declares', () => {
    expect(declaredInputs(plan).map(({ name }) => name)).toEqual(['topic']);
    expect(declaredInputs(compilePlan([fn('F', 'return 1')], ['Start -> F']))).toEqual([]);
  });

  it('find a block by id, or by name as in references', () => {
    expect(findBlock(plan, 'My Block').id).toBe('My Block');
    expect(findBlock(plan, 'myblock').id).toBe('My Block');
  });

  it('name the existing blocks if a block is unknown', () => {
    expect(() => findBlock(plan, 'constructor')).toThrow(
      expect.objectContaining({
        code: 'BLOCK_NOT_FOUND',
        message: expect.stringMatching(/no block "constructor".*"My Block"/) as string,
      }),
    );
  });
});
