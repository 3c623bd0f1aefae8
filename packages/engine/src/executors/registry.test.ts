import { describe, expect, it } from 'vitest';
import type { BlockExecutor } from '@heddle/core/blocks';
import { builtInExecutors } from './built-ins.ts';
import { blockTypeInfos, createRegistry, unknownTypeError } from './registry.ts';

const createExecutor = (type: string): BlockExecutor => ({
  types: [type],
  class: 'effect',
  outputs: { sent: 'boolean' },
  required: ['to'],
  execute: () => ({ output: {} }),
});

describe('the registry', () => {
  it('contains the types of the engine and of the host', () => {
    const registry = createRegistry(builtInExecutors, [createExecutor('mail')]);
    expect([...registry.keys()]).toEqual([
      'function',
      'condition',
      'variables',
      'response',
      'wait',
      'human_in_the_loop',
      'workflow',
      'workflow_input',
      'api',
      'webhook_request',
      'mail',
    ]);
  });

  it.each([['function'], ['mail']])('refuses a second executor for %s', (type) => {
    expect(() => createRegistry(builtInExecutors, [createExecutor('mail'), createExecutor(type)])).toThrow(
      expect.objectContaining({
        code: 'EXECUTOR_DUPLICATE',
        message: expect.stringContaining(`"${type}"`) as string,
      }) as Error,
    );
  });

  it('refuses a second executor that sends notifications, and names both', () => {
    const createNotifier = (type: string): BlockExecutor => ({
      ...createExecutor(type),
      notify: () => Promise.resolve([]),
    });
    const executors = [createExecutor('mail'), createNotifier('chat'), createNotifier('pager')];
    expect(() => createRegistry(builtInExecutors, executors.slice(0, 2))).not.toThrow();
    expect(() => createRegistry(builtInExecutors, executors)).toThrow(
      expect.objectContaining({
        code: 'OPTIONS_INVALID',
        message: expect.stringContaining('"chat" and "pager"') as string,
      }) as Error,
    );
  });

  it('describes the types to the compiler', () => {
    const infos = blockTypeInfos(createRegistry(builtInExecutors, [createExecutor('mail')]));
    expect(infos.find(({ type }) => type === 'mail')).toEqual({
      type: 'mail',
      class: 'effect',
      outputs: { sent: 'boolean' },
      required: ['to'],
    });
    expect(infos.find(({ type }) => type === 'wait')).toEqual({ type: 'wait', class: 'wait' });
  });
});

describe('a type without an executor', () => {
  it('fails with a hint in the message', () => {
    const failure = unknownTypeError({ name: 'Tell "them"', type: 'slack' });
    expect(failure).toMatchObject({ code: 'BLOCK_TYPE_UNKNOWN', retryable: false });
    expect(failure.message).toContain('{"types": {"slack": {…}}}');
    expect(failure.message).toContain('{"blocks": {"Tell \\"them\\"": {…}}}');
    expect(failure.message).toContain('register');
  });
});
