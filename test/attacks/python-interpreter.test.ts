import { interpreterEscapes } from './python/interpreter-escapes.ts';
import { testAttacks } from './suite.ts';

testAttacks(interpreterEscapes, { share: 1 / 3, sandbox: { python: { maxProcesses: 1 } } });
