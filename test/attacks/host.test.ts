import { hostAttacks } from './javascript/host.ts';
import { testAttacks } from './suite.ts';

testAttacks(hostAttacks);
