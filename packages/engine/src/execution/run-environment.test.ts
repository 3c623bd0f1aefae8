import type { Plan } from '@heddle/core';
import { compile, parseWorkflow } from '@heddle/core';
import { describe, expect, it } from 'vitest';
import { TestClock } from '../../../../test/support/test-clock.ts';
import { fn, workflow } from '../../../../test/support/workflow.ts';
import type { EnvironmentValue, TenantEnvironments } from './run-environment.ts';
import { MemoryValueStore } from '../store/memory.ts';
import { Environments } from './run-environment.ts';
import { Values } from '../records/values.ts';

function planOf(code: string): Plan {
  const parsed = parseWorkflow(workflow([fn('F', code)], ['Start -> F']));
  const compiled = parsed.workflow && compile(parsed.workflow);
  if (!compiled?.ok) throw new Error('The workflow is invalid.');
  return compiled.plan;
}

/** Returns environments for workflows that all belong to tenant `a`, or without `tenantEnvironments` to no tenant. */
function createEnvironments({
  env = {},
  tenantEnvironments,
}: {
  env?: { [name: string]: EnvironmentValue };
  tenantEnvironments?: TenantEnvironments;
}) {
  const reportedMessages: string[] = [];
  const clock = new TestClock();
  const environments = new Environments({
    env,
    tenantEnvironments,
    tenant: () => (tenantEnvironments ? 'a' : undefined),
    values: new Values(new MemoryValueStore()),
    clock,
    onError: (error) => void reportedMessages.push((error as Error).message),
  });
  return { environments, clock, reportedMessages };
}

const SECRET_PLAN = planOf('return {{KEY}}');
const blockIdOf = (plan: Plan): string =>
  Object.values(plan.blocks).find(({ name }) => name === 'F')?.id ?? '';

describe('the environment of a run', () => {
  it('is opened synchronously if there are no tenants', () => {
    const { environments } = createEnvironments({
      env: { KEY: 'a-secret-value', OPEN: { value: 'open-value', secret: false } },
    });
    const environment = environments.open(SECRET_PLAN);
    expect(environment).toMatchObject({ values: { KEY: 'a-secret-value' } });
    expect(environments.open(planOf('return 1'))).toMatchObject({ values: {} });
  });

  it('redacts the credentials of its blocks, but not in other runs of the plan', async () => {
    const { environments } = createEnvironments({ env: { KEY: 'a-secret' } });
    const [first, second] = [await environments.open(SECRET_PLAN), await environments.open(SECRET_PLAN)];
    first.addSecret('Key of the shop', 'a-secret-of-the-shop');
    first.addSecret('Key of the shop', 'its-later-value');
    expect(first.redactText('a-secret a-secret-of-the-shop its-later-value')).toBe(
      '«redacted:KEY» «redacted:Key_of_the_shop» «redacted:Key_of_the_shop»',
    );
    expect(first.sanitizer.redactText('its-later-value')).toBe('«redacted:Key_of_the_shop»');
    expect(second.redactText('a-secret its-later-value')).toBe('«redacted:KEY» its-later-value');
  });

  it('of a tenant has the current values, and only those that the blocks can read', async () => {
    let key: EnvironmentValue = 'first-value';
    const requestedNames: (readonly string[])[] = [];
    const tenantEnvironments: TenantEnvironments = {
      names: () => ['KEY', 'OTHER'],
      values: (_tenant, names) => {
        requestedNames.push(names);
        return { KEY: key, OTHER: 'never requested' };
      },
    };
    const { environments, clock } = createEnvironments({ tenantEnvironments });
    const environment = await environments.open(SECRET_PLAN);
    expect(environment.values).toEqual({ KEY: 'first-value' });
    expect(environment.refresh(blockIdOf(SECRET_PLAN))).toBeUndefined();
    key = 'second-value';
    clock.advance(1000);
    expect(environment.refresh('start')).toBeUndefined();
    await environment.refresh(blockIdOf(SECRET_PLAN));
    expect(environment.values).toEqual({ KEY: 'second-value' });
    expect(environment.redactText('first-value second-value')).toBe('«redacted:KEY» «redacted:KEY»');
    expect(requestedNames).toEqual([['KEY'], ['KEY']]);
    const all = await environments.open(planOf('return environmentVariables'));
    expect(Object.keys(all.values)).toEqual(['KEY', 'OTHER']);
  });

  it('fails a block with a retryable error if it cannot be read before the block runs', async () => {
    let broken = false;
    const tenantEnvironments: TenantEnvironments = {
      names: () => [],
      values: () => {
        if (broken) throw new Error('unreachable: db.internal');
        return { KEY: 'a-secret-value' };
      },
    };
    const { environments, clock, reportedMessages: reported } = createEnvironments({ tenantEnvironments });
    const environment = await environments.open(SECRET_PLAN);
    broken = true;
    clock.advance(1000);
    await expect(environment.refresh(blockIdOf(SECRET_PLAN))).rejects.toMatchObject({
      code: 'ENVIRONMENT_UNAVAILABLE',
      retryable: true,
      message: expect.not.stringContaining('db.internal') as string,
    });
    expect(reported).toEqual(['unreachable: db.internal']);
  });

  it('warns once about each secret of fewer than 8 characters, without its value', async () => {
    const env = {
      PIN: '4711',
      LONG: 'long enough',
      OPEN: { value: 'open', secret: false as const },
      NONE: '',
      N: '12',
    };
    expect(createEnvironments({ env }).reportedMessages).toEqual([
      expect.stringContaining('{{PIN}}'),
      expect.stringMatching(/\{\{N\}\}.*not redacted/s),
    ]);
    const tenantEnvironments: TenantEnvironments = { names: () => [], values: () => ({ KEY: 'short' }) };
    const { environments, reportedMessages: reported } = createEnvironments({ tenantEnvironments });
    await environments.open(SECRET_PLAN);
    await environments.open(SECRET_PLAN);
    expect(reported).toEqual([expect.stringContaining('{{KEY}}')]);
    expect(reported.join()).not.toContain('short.');
  });
});
