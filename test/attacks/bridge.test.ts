import { bridge } from './javascript/bridge.ts';
import { pollution } from './javascript/pollution.ts';
import { testAttacks } from './suite.ts';

testAttacks(pollution);
testAttacks(bridge);
