import { leakAttacks } from './javascript/leaks.ts';
import { testAttacks } from './suite.ts';

for (const share of ['run', 'tenant', 'none'] as const)
  testAttacks(leakAttacks, {
    variant: `, an isolate per ${share === 'none' ? 'job' : share}`,
    sandbox: { share },
  });
