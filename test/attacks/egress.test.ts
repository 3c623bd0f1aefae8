import { afterAll, beforeAll } from 'vitest';
import { egressAttacks, urlAttacks } from './javascript/egress.ts';
import { DENY_POLICY, nameAttacks } from './javascript/names.ts';
import { serverAttacks } from './javascript/servers.ts';
import { EXTERNAL_ADDRESS } from './network.ts';
import { testAttacks } from './suite.ts';

/** Environment variables that set a proxy. The tests set them to an address at which no proxy listens. */
const PROXY_ENV = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy', 'NODE_USE_ENV_PROXY'];

beforeAll(() => {
  for (const name of PROXY_ENV) process.env[name] = name.startsWith('NODE') ? '1' : 'http://127.0.0.1:9/';
});
afterAll(() => {
  for (const name of PROXY_ENV) delete process.env[name];
});

testAttacks(egressAttacks);
testAttacks(serverAttacks);
testAttacks(nameAttacks, { policy: { ...DENY_POLICY, allowPrivate: [`${EXTERNAL_ADDRESS.address}/32`] } });
testAttacks(urlAttacks, { policy: {}, variant: ' with the default policy' });
testAttacks(urlAttacks, { policy: { ports: 'any' }, variant: ' on any port' });
