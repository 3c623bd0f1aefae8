import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it, onTestFinished } from 'vitest';
import { createDataFolder } from '../../../../test/support/data-folder.ts';
import { clientAddressOf, openLimits } from './limits.ts';

const context = {
  operationIds: ['listLogs', 'getLog'],
  onError(error: unknown): void {
    throw error;
  },
};

const limitOf = async (options: { host: string; limits?: string }, operation = 'getLog') => {
  const { limits } = await openLimits({ data: 'unused', ...options }, context);
  return (await limits.rate?.take('operation', ['ada'], operation))?.limit;
};

describe('limits of a server', () => {
  it.each(['127.0.0.1', '127.8.0.1', '::1', 'localhost'])('are not set on %s', async (host) => {
    expect((await openLimits({ data: 'unused', host }, context)).limits).not.toHaveProperty('rate');
  });

  it.each(['0.0.0.0', '::', '192.0.2.1', 'localhost.example', '127.0.0.1.example'])(
    'on %s are those of the plan enterprise',
    async (host) => {
      expect(await limitOf({ host })).toBe(1000);
    },
  );

  it('come from the file if there is one', async () => {
    const file = join(createDataFolder(onTestFinished), 'limits.json');
    writeFileSync(file, '{"plan": "free", "asyncTimeoutSeconds": 9}');
    expect(await limitOf({ host: '127.0.0.1', limits: file })).toBe(60);
    expect(await openLimits({ data: 'unused', host: '::', limits: file }, context)).toMatchObject({
      limits: { timeouts: { asyncSeconds: 9 } },
    });
    writeFileSync(file, '{"plan": "gold"}');
    await expect(limitOf({ host: '127.0.0.1', limits: file })).rejects.toThrow(
      /^--limits .*: The limits are not valid\. plan: /,
    );
    await expect(limitOf({ host: '::', limits: `${file}x` })).rejects.toThrow(/ENOENT/);
  });

  it('cover concurrent calls and body sizes of single operations, even in a plan without rate limits', async () => {
    const file = join(createDataFolder(onTestFinished), 'limits.json');
    const operations = { listLogs: { concurrentRequests: 1 }, getLog: { bodyBytes: 7 } };
    writeFileSync(file, JSON.stringify({ plan: 'none', operations }));
    const { limits } = await openLimits({ data: 'unused', host: '::', limits: file }, context);
    expect(limits.bodyBytes).toEqual({ getLog: 7 });
    const { concurrency } = limits;
    expect(await concurrency?.acquireCall?.('listLogs', 'ada')).toBeDefined();
    expect(await concurrency?.acquireCall?.('listLogs', 'ada')).toBeUndefined();
  });

  it('for single operations replace the limit for all, and unknown operations are refused', async () => {
    const file = join(createDataFolder(onTestFinished), 'limits.json');
    writeFileSync(file, '{"plan": "none", "operations": {"listLogs": {"requestsPerMinute": 3}}}');
    expect(await limitOf({ host: '::', limits: file }, 'listLogs')).toBe(6);
    expect(await limitOf({ host: '::', limits: file }, 'getLog')).toBeUndefined();
    writeFileSync(file, '{"operations": {"listlogs": {"requestsPerMinute": 3}}}');
    await expect(limitOf({ host: '::', limits: file })).rejects.toThrow(
      'operations: There is no operation "listlogs". Did you mean "listLogs"?',
    );
  });
});

describe('the client address that limits use', () => {
  it.each<[peer: string, forwardedFor: string | undefined, proxies: number, expected: string]>([
    ['192.0.2.1', undefined, 0, '192.0.2.1'],
    ['192.0.2.1', '198.51.100.7', 0, '192.0.2.1'],
    ['192.0.2.1', 'forged, 198.51.100.7', 1, '198.51.100.7'],
    ['192.0.2.1', 'forged, 198.51.100.7, 203.0.113.1', 2, '198.51.100.7'],
    ['192.0.2.1', '198.51.100.7', 2, '192.0.2.1'],
    ['192.0.2.1', undefined, 1, '192.0.2.1'],
    ['::ffff:192.0.2.1', undefined, 0, '192.0.2.1'],
    ['2001:db8:1:2:3:4:5:6', undefined, 0, '2001:db8:1:2::/64'],
    ['2001:db8::6', undefined, 0, '2001:db8:0:0::/64'],
    ['::1', undefined, 0, '0:0:0:0::/64'],
  ])(
    'for the peer %s with X-Forwarded-For %s and %i proxies is %s',
    (peer, forwardedFor, proxies, expected) => {
      const headers = new Headers(forwardedFor === undefined ? {} : { 'X-Forwarded-For': forwardedFor });
      expect(clientAddressOf(headers, peer, proxies)).toBe(expected);
    },
  );
});
