import { describe, expect, it } from 'vitest';
import { isDestination } from './destinations.ts';
import { createCheck } from './guard.ts';
import type { IpAddress, EgressPolicy } from './types.ts';

const PUBLIC_ADDRESS: IpAddress = { address: '93.184.216.34', family: 4 };
const addressesByHost: Record<string, IpAddress[]> = {
  'example.com': [PUBLIC_ADDRESS],
  'v6.example.com': [{ address: '2606:2800:220:1::1', family: 6 }],
  'mixed.example.com': [PUBLIC_ADDRESS, { address: '10.0.0.1', family: 4 }],
  'loop.example.com': [{ address: '127.0.0.1', family: 4 }],
  'mapped.example.com': [{ address: '::ffff:192.168.1.1', family: 6 }],
  'intra.internal': [{ address: '10.1.2.3', family: 4 }],
  localhost: [{ address: '127.0.0.1', family: 4 }],
  'meta.example.com': [{ address: '169.254.169.254', family: 4 }],
  'empty.example.com': [],
};

async function check(url: string, policy: EgressPolicy = {}): Promise<string> {
  const checkUrl = createCheck(policy, async (host) => {
    const addresses = addressesByHost[host];
    if (addresses === undefined) throw new Error('ENOTFOUND');
    return addresses;
  });
  return checkUrl(url).then(
    ({ addresses }) => addresses.map(({ address }) => address).join(),
    (error: { code: string; message: string }) => `${error.code}: ${error.message}`,
  );
}

describe('the egress check', () => {
  it('returns the addresses that may be connected to', async () => {
    expect(await check('https://example.com/path')).toBe('93.184.216.34');
    expect(await check('http://v6.example.com:8080/')).toBe('2606:2800:220:1::1');
    expect(await check('http://93.184.216.34/')).toBe('93.184.216.34');
  });

  it.each([
    'http://169.254.169.254/latest/meta-data/iam/',
    'http://127.0.0.1:8080/',
    'http://2130706433/',
    'http://0x7f.1/',
    'http://0177.0.0.1/',
    'http://127.1:8080/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://[::ffff:a9fe:a9fe]/',
    'http://[::]/',
    'http://[::127.0.0.1]/',
    'http://0.0.0.0:8080/',
    'http://[fd00:ec2::254]/',
    'http://100.100.100.200/latest/meta-data/',
    'http://168.63.129.16/machine',
    'http://100.64.0.1/',
    'http://[64:ff9b::7f00:1]/',
    'http://[64:ff9b:1::1]/',
    'http://[2002:7f00:1::]/',
    'http://[2001:0:1::1]/',
    'http://[fe80::1]/',
    'http://[ff02::1]/',
    'http://192.168.0.1/',
    'http://172.16.0.1/',
    'https://10.0.0.1/',
    'http://224.0.0.1/',
    'http://255.255.255.255/',
    'http://①②⑦.⓪.⓪.①/',
    'http://localhost/',
    'http://localhost.:8080/',
    'http://foo.localhost/',
    'http://metadata.google.internal/computeMetadata/v1/',
    'http://redis/',
    'http://printer.local/',
    'http://loop.example.com/',
    'http://mixed.example.com/',
    'http://mapped.example.com/',
    'file:///etc/passwd',
    'data:text/plain,hi',
    'gopher://127.0.0.1:6379/_INFO',
    'http://user:pw@example.com/',
    'http://example.com:22/',
    'http://example.com:6379/',
    'no url',
    `http://example.com/${'x'.repeat(9_000)}`,
  ])('refuses %s', async (url) => {
    expect(await check(url)).toMatch(/^EGRESS_DENIED: /);
  });

  it('names the host and the exception to add', async () => {
    expect(await check('http://10.0.0.1/')).toBe(
      'EGRESS_DENIED: 10.0.0.1 is a private address; add "10.0.0.1:80" to exceptions in the egress policy to allow it.',
    );
    expect(await check('http://loop.example.com/')).toContain(
      'loop.example.com resolves to a private address; add "loop.example.com:80"',
    );
    expect(await check('http://example.com:22/')).toContain(
      'port 22 of example.com are not allowed; add "example.com:22"',
    );
    expect(await check('http://example.com/', { allowHosts: ['a.test'] })).toContain(
      '(allowHosts); add "example.com:80"',
    );
  });

  it("includes the policy's advice in the message, or none", async () => {
    const hint = 'use --allow-host {target}';
    expect(await check('https://redis/', { hint })).toMatch(
      /redis is an internal host name; use --allow-host redis:443 to allow it\.$/,
    );
    expect(await check('http://[::1]:8080/', { hint })).toContain('--allow-host [::1]:8080 to');
    expect(await check('http://redis/', { hint: '' })).toMatch(/redis is an internal host name\.$/);
  });

  it('does not repeat a host with shell characters in its advice', async () => {
    const message = await check('http://$(id>x)`id`;id/', { hint: 'use --allow-host {target}' });
    expect(message).toMatch(/^EGRESS_DENIED/);
    expect(await check('http://a;id/', { hint: 'use --allow-host {target}' })).toContain(
      'use --allow-host HOST:PORT to',
    );
  });

  it('reports hosts that do not exist', async () => {
    expect(await check('http://nope.example.com/')).toBe(
      'EGRESS_FAILED: The host nope.example.com could not be found.',
    );
    expect(await check('http://empty.example.com/')).toBe(
      'EGRESS_FAILED: The host empty.example.com has no address.',
    );
  });

  it('allows private addresses by policy, but no metadata service', async () => {
    const policy = { allowPrivate: true };
    expect(await check('http://127.0.0.1/', policy)).toBe('127.0.0.1');
    expect(await check('http://localhost/', policy)).toBe('127.0.0.1');
    expect(await check('http://intra.internal/', policy)).toBe('10.1.2.3');
    expect(await check('http://169.254.169.254/', policy)).toMatch(/^EGRESS_DENIED/);
    expect(await check('http://100.100.100.200/', policy)).toMatch(/^EGRESS_DENIED/);
    expect(await check('http://[fd00:ec2::254]/', policy)).toMatch(/^EGRESS_DENIED/);
    expect(await check('http://[fd00:c1::a9fe:a9fe]/', policy)).toMatch(/^EGRESS_DENIED/);
  });

  it('allows only the ranges that are listed', async () => {
    const policy = { allowPrivate: ['10.1.0.0/16', '169.254.169.254/32'] };
    expect(await check('http://intra.internal/', policy)).toBe('10.1.2.3');
    expect(await check('http://169.254.169.254/', policy)).toBe('169.254.169.254');
    expect(await check('http://[::ffff:10.1.0.1]/', policy)).toBe('10.1.0.1');
    expect(await check('http://10.2.0.1/', policy)).toMatch(/^EGRESS_DENIED/);
    expect(await check('http://localhost/', policy)).toMatch(/^EGRESS_DENIED/);
  });

  it('applies host lists, denied hosts first', async () => {
    const policy = { allowHosts: ['*.example.com', 'example.com'], denyHosts: ['v6.example.com'] };
    expect(await check('http://example.com/', policy)).toBe('93.184.216.34');
    expect(await check('http://EXAMPLE.com./', policy)).toBe('93.184.216.34');
    expect(await check('http://v6.example.com/', policy)).toMatch(/denyHosts/);
    expect(await check('http://93.184.216.34/', policy)).toMatch(/allowHosts/);
  });

  it('matches the host names of a policy in every script and spelling', async () => {
    const policy = { allowHosts: ['MÜLLER.example.com', '*.bücher.example.'] };
    expect(await check('http://müller.example.com/', policy)).toMatch(/^EGRESS_FAILED/);
    expect(await check('http://xn--mller-kva.example.com/', policy)).toMatch(/^EGRESS_FAILED/);
    expect(await check('http://a.xn--bcher-kva.example/', policy)).toMatch(/^EGRESS_FAILED/);
    expect(await check('http://mueller.example.com/', policy)).toMatch(/^EGRESS_DENIED/);
    expect(await check('http://xbücher.example/', policy)).toMatch(/^EGRESS_DENIED/);
  });

  it('allows only the ports of the policy', async () => {
    expect(await check('http://example.com:6379/', { ports: [6379] })).toBe('93.184.216.34');
    expect(await check('http://example.com/', { ports: [443] })).toMatch(/^EGRESS_DENIED/);
    expect(await check('http://example.com:1/', { ports: 'any' })).toBe('93.184.216.34');
  });

  describe('with exceptions', () => {
    it.each([
      ['localhost:3000', 'http://localhost:3000/', true],
      ['localhost:3000', 'http://LOCALHOST.:3000/', true],
      ['localhost:3000', 'http://localhost:3001/', false],
      ['localhost', 'http://localhost/', true],
      ['localhost', 'http://localhost:3000/', false],
      ['localhost:*', 'http://localhost:3000/', true],
      ['*.internal:*', 'http://intra.internal:5/', true],
      ['internal:*', 'http://intra.internal:5/', false],
      ['10.1.0.0/16', 'http://intra.internal/', true],
      ['10.1.0.0/16', 'http://intra.internal:9000/', false],
      ['10.1.0.0/16:9000', 'http://intra.internal:9000/', true],
      ['10.1.0.0/16:*', 'http://10.1.9.9:1/', true],
      ['10.1.0.0/16:*', 'http://10.2.0.1:1/', false],
      ['10.2.0.1', 'http://10.2.0.1/', true],
      ['127.1:80', 'http://127.0.0.1/', true],
      ['[::1]:9000', 'http://[::1]:9000/', true],
      ['::1', 'http://[::1]/', true],
      ['[fd00::/8]:*', 'http://[fd12::1]:9/', true],
      ['[fd00::]/8:*', 'http://[fd12::1]:9/', true],
      ['example.com:22', 'http://example.com:22/', true],
      ['example.com:22', 'http://v6.example.com:22/', false],
      // All addresses of a name have to be allowed.
      ['10.0.0.0/8', 'http://mixed.example.com/', true],
      ['10.1.0.0/16', 'http://mixed.example.com/', false],
      // Metadata services need a range that contains them.
      ['meta.example.com:*', 'http://meta.example.com/', false],
      ['169.254.169.254', 'http://meta.example.com/', true],
    ])('%s: %s is allowed: %s', async (exception, url, isAllowed) => {
      const message = await check(url, { exceptions: [exception] });
      expect(message.startsWith('EGRESS_')).toBe(!isAllowed);
    });

    it('allows them in addition to a list of hosts; denied hosts take precedence', async () => {
      const policy = { allowHosts: ['a.test'], exceptions: ['localhost:*'] };
      expect(await check('http://localhost:9/', policy)).toBe('127.0.0.1');
      expect(await check('http://example.com/', policy)).toMatch(/^EGRESS_DENIED/);
      expect(await check('http://localhost:9/', { ...policy, denyHosts: ['localhost'] })).toMatch(
        /denyHosts/,
      );
    });

    it('does not reveal which internal names exist', async () => {
      const policy = { exceptions: ['192.168.7.0/24'] };
      const [knownNameMessage, unknownNameMessage] = [
        await check('http://intra.internal/', policy),
        await check('http://nope.internal/', policy),
      ];
      expect(knownNameMessage.replaceAll('intra', 'nope')).toBe(unknownNameMessage);
    });
  });

  it('refuses hosts, ports and ranges that are denied', async () => {
    const denyHosts = ['example.com:8080', '93.184.0.0/16:443', '*.internal'];
    expect(await check('http://example.com/', { denyHosts })).toBe('93.184.216.34');
    expect(await check('http://example.com:8080/', { denyHosts })).toMatch(/denyHosts/);
    expect(await check('https://example.com/', { denyHosts })).toMatch(/denyHosts/);
    expect(await check('http://intra.internal/', { denyHosts, allowPrivate: true })).toMatch(/denyHosts/);
  });

  it.each([
    '',
    'http://example.com',
    'a b',
    'a:0',
    'a:65536',
    'a:x',
    '10.0.0.0/33',
    'a/8',
    '[::1',
    '*',
    'a.*.b',
    'u@h',
  ])('refuses the destination "%s" in a policy', (text) => {
    expect(isDestination(text)).toBe(false);
    expect(() => createCheck({ exceptions: [text] })).toThrow(/in exceptions is not a destination/);
    expect(() => createCheck({ denyHosts: [text] })).toThrow(/in denyHosts is not a destination/);
  });

  it.each(['10.0.0.0', '10.0.0.0/33', 'host/8', '10.0.0.0/8/1'])(
    'refuses the range %s in a policy',
    (range) => {
      expect(() => createCheck({ allowPrivate: [range] })).toThrow(/allowPrivate/);
    },
  );
});
