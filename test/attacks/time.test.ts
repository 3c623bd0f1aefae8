import { timeAttacks } from './javascript/time.ts';
import { testAttacks } from './suite.ts';

testAttacks(timeAttacks, { share: 1 / 2 });
