import { time } from './javascript/time.ts';
import { testAttacks } from './suite.ts';

testAttacks(time, { share: 1 / 2 });
