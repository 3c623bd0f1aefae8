import { leaks } from './javascript/leaks.ts';
import { testAttacks } from './suite.ts';

for (const share of ['run', 'tenant', 'none'] as const)
  testAttacks(leaks, { variant: `, an isolate per ${share === 'none' ? 'job' : share}`, sandbox: { share } });
