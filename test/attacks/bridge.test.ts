import { bridgeAttacks } from './javascript/bridge.ts';
import { pollutionAttacks } from './javascript/pollution.ts';
import { testAttacks } from './suite.ts';

testAttacks(pollutionAttacks);
testAttacks(bridgeAttacks);
