import { floodAttacks } from './javascript/floods.ts';
import { memoryAttacks } from './javascript/memory.ts';
import { testAttacks } from './suite.ts';

testAttacks(memoryAttacks, { share: 1 / 3, sandbox: { limits: { memoryMiB: 32 } } });
testAttacks(floodAttacks, { share: 1 / 2 });
