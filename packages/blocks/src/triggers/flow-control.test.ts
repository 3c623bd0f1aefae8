import type { Json } from '@heddle/core/blocks';
import { describe, expect, it } from 'vitest';
import { triggerTypes } from './index.ts';

const webhook = triggerTypes.find(({ type }) => type === 'generic_webhook');

/** Returns the policy of a webhook with this field, or the problem. */
function parsePolicy(flowControl: Json): unknown {
  const result = webhook?.parseConfig({ token: 'x', flowControl });
  if (!result) throw new Error('There is no trigger type generic_webhook.');
  return 'problems' in result
    ? result.problems.map(({ message }) => message).join('; ')
    : result.config['flow'];
}

describe('the field flowControl', () => {
  it('is JSON, as a value or as text, and sets a policy in milliseconds', () => {
    const throttle = { limit: 10, seconds: 60 };
    const expected = { scope: 'trigger', key: 'a.b', throttle: { limit: 10, ms: 60_000, excess: 'wait' } };
    expect(parsePolicy({ key: 'a.b', throttle })).toEqual(expected);
    expect(parsePolicy(JSON.stringify({ key: 'a.b', throttle }))).toEqual(expected);
    expect(parsePolicy({ debounce: { seconds: 5 } })).toEqual({
      scope: 'trigger',
      debounce: { ms: 5000, maxMs: 50_000 },
    });
    expect(parsePolicy({ batch: { size: 2, seconds: 1 }, concurrency: 3, scope: 'workflow' })).toEqual({
      ...{ scope: 'workflow', concurrency: 3 },
      batch: { size: 2, ms: 1000 },
    });
    for (const emptyValue of [null, '', '  ']) expect(parsePolicy(emptyValue)).toBeUndefined();
  });

  it('is refused with the reason if it is not a valid policy', () => {
    expect(parsePolicy('{')).toBe('is not a JSON object');
    expect(parsePolicy([])).toBe('is not a JSON object');
    expect(parsePolicy({})).toBe('has none of concurrency, throttle, debounce, batch and singleton');
    expect(parsePolicy({ concurrency: 0 })).toBe(
      'has an invalid field "concurrency": it must be a whole number from 1 to 100',
    );
    expect(parsePolicy({ throttle: { limit: 1 } })).toContain('"throttle.seconds"');
    expect(parsePolicy({ throttle: 5 })).toBe('has an invalid field "throttle": it must be an object');
    expect(parsePolicy({ throttle: { limit: 1, seconds: 1, exces: 'drop' } })).toBe(
      'has the unknown field "throttle.exces"',
    );
    expect(parsePolicy({ concurency: 1 })).toBe('has the unknown field "concurency"');
    expect(parsePolicy({ singleton: 'skip', concurrency: 1 })).toBe(
      'has both singleton and concurrency: use one of them',
    );
    expect(parsePolicy({ debounce: { seconds: 9 }, batch: { size: 2, seconds: 1 } })).toBe(
      'has both debounce and batch: use one of them',
    );
    expect(parsePolicy({ debounce: { seconds: 9, maxSeconds: 8 } })).toContain('maxSeconds');
    expect(parsePolicy({ key: 'a..b', concurrency: 1 })).toBe(
      'has an invalid field "key": it must be a path such as customer.id',
    );
  });

  it('is a field of each type of trigger', () => {
    const fields = {
      ...{ cronExpression: '@daily', scheduleType: 'cron', webhookSecret: 's', signingSecret: 's' },
      ...{ feedUrl: 'https://example.com', host: 'imap.example.com', username: 'a', password: 'b' },
      ...{ triggerCredentials: 'c', owner: 'ada', repo: 'loom' },
    };
    for (const type of triggerTypes)
      expect(type.parseConfig({ ...fields, flowControl: { concurrency: 1 } }), type.type).toMatchObject({
        config: { flow: { concurrency: 1 } },
      });
  });
});
