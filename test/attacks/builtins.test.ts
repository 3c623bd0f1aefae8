import { builtinAttacks } from './javascript/builtins.ts';
import { testAttacks } from './suite.ts';

testAttacks(builtinAttacks, { share: 1 / 2 });
