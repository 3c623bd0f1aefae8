import { floods } from './javascript/floods.ts';
import { memory } from './javascript/memory.ts';
import { testAttacks } from './suite.ts';

testAttacks(memory, { share: 1 / 3, sandbox: { limits: { memoryMiB: 32 } } });
testAttacks(floods, { share: 1 / 2 });
