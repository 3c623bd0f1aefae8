import { host } from './javascript/host.ts';
import { testAttacks } from './suite.ts';

testAttacks(host);
