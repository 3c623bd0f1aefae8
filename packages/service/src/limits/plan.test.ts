import { describe, expect, it } from 'vitest';
import { PLANS, bodyBytesOf, bucketsOf, concurrencyOf, parseLimits, timeoutsOf } from './plan.ts';

const IDS = ['listLogs'];

describe('a limits file', () => {
  it('replaces values of its plan; null removes a limit', () => {
    const text = JSON.stringify({ plan: 'pro', requestsPerMinute: 7, concurrentRuns: null });
    expect(parseLimits(text, IDS)).toEqual({ ...PLANS.pro, requestsPerMinute: 7, concurrentRuns: null });
  });

  it('has the limits of the highest plan unless it names one', () => {
    expect(parseLimits('{}', IDS)).toEqual(PLANS.enterprise);
  });

  it.each([
    ['{', /^The limits are not JSON: /],
    ['{"requestPerMinute": 5}', /Unrecognized key: "requestPerMinute"/],
    ['{"requestsPerMinute": 0}', /requestsPerMinute: Too small/],
    ['{"requestsPerMinute": 1.5}', /requestsPerMinute: Invalid input/],
    ['{"syncRunsPerMinute": "5", "plan": "gold"}', /plan: Invalid option.*syncRunsPerMinute: Invalid input/],
    ['[]', /expected object/],
    ['{"operations": {"nothing": {"requestsPerMinute": 5}}}', /There is no operation "nothing"\.$/],
    ['{"operations": {"listLogs": {"syncRunsPerMinute": 5}}}', /operations: listLogs: .*syncRunsPerMinute/],
    ['{"operations": {"listLogs": {"burst": 0}}}', /operations: listLogs: burst: Too small/],
    ['{"operations": {"listLogs": {"bodyBytes": null}}}', /operations: listLogs: bodyBytes: Invalid input/],
    ['{"plan": "none", "operations": {"listLogs": {"burst": 5}}}', /listLogs: burst needs requestsPerMinute/],
  ])('is refused with the reason if it is invalid: %s', (text, message) => {
    expect(() => parseLimits(text, IDS)).toThrow(message);
  });
});

it('the capacity of a bucket is twice its rate per minute; without a limit there is no bucket', () => {
  expect(bucketsOf(PLANS.none)).toEqual({});
  expect(bucketsOf({ ...PLANS.none, syncRunsPerMinute: 50 })).toEqual({
    sync: { capacity: 100, perMinute: 50 },
  });
  const operations = { listLogs: { requestsPerMinute: 5 }, getLog: { requestsPerMinute: null } };
  expect(bucketsOf({ ...PLANS.none, operations })).toEqual({
    operations: { listLogs: { capacity: 10, perMinute: 5 }, getLog: null },
  });
});

it('an operation can have its own burst, concurrency and body size; without its own rate it has that of the plan', () => {
  const text = JSON.stringify({
    plan: 'free',
    operations: {
      listLogs: { burst: 5 },
      getLog: { requestsPerMinute: 60, burst: 3, concurrentRequests: 2 },
      setSecret: { bodyBytes: 1000 },
    },
  });
  const plan = parseLimits(text, ['listLogs', 'getLog', 'setSecret']);
  expect(bucketsOf(plan).operations).toEqual({
    listLogs: { capacity: 5, perMinute: 30 },
    getLog: { capacity: 3, perMinute: 60 },
  });
  expect(concurrencyOf(plan)).toEqual({ runs: 10, calls: { getLog: 2 } });
  expect(bodyBytesOf(plan)).toEqual({ setSecret: 1000 });
  expect(concurrencyOf(PLANS.none)).toBeUndefined();
});

it('the timeouts of a plan are the time limits of runs that the plan sets, or none', () => {
  expect(timeoutsOf(PLANS.enterprise)).toEqual({});
  expect(timeoutsOf({ ...PLANS.none, asyncTimeoutSeconds: 60 })).toEqual({ asyncSeconds: 60 });
});
