import { builtins } from './javascript/builtins.ts';
import { testAttacks } from './suite.ts';

testAttacks(builtins, { share: 1 / 2 });
