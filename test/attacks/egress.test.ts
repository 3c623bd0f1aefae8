import { afterAll, beforeAll } from 'vitest';
import { egress, urlsOnly } from './javascript/egress.ts';
import { names, REFUSING } from './javascript/names.ts';
import { servers } from './javascript/servers.ts';
import { OUTER } from './network.ts';
import { testAttacks } from './suite.ts';

/** Proxy variables that programs use; no usable proxy listens there. */
const PROXY = ['http_proxy', 'HTTP_PROXY', 'https_proxy', 'ALL_PROXY', 'all_proxy', 'NODE_USE_ENV_PROXY'];

beforeAll(() => {
  for (const name of PROXY) process.env[name] = name.startsWith('NODE') ? '1' : 'http://127.0.0.1:9/';
});
afterAll(() => {
  for (const name of PROXY) delete process.env[name];
});

testAttacks(egress);
testAttacks(servers);
testAttacks(names, { policy: { ...REFUSING, allowPrivate: [`${OUTER.address}/32`] } });
testAttacks(urlsOnly, { policy: {}, variant: ' with the policy by default' });
testAttacks(urlsOnly, { policy: { ports: 'any' }, variant: ' on any port' });
