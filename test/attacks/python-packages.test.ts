import { pythonPackages } from './python/packages.ts';
import { testStoredFiles, testTenants, useHostileImages } from './stored-images.ts';
import { testAttacks } from './suite.ts';

const stored = useHostileImages('wheels');

testAttacks(pythonPackages, { sandbox: { images: stored.images, python: { maxProcesses: 1 } } });

testTenants(stored, 'python', 'wheels', [
  'import remembers\nremembers.keep("secret")\nreturn 1',
  'import remembers\nreturn remembers.tell()',
]);

testStoredFiles(stored, 'python', [
  ['memory.snap', 'wheels'],
  ['site.zip', 'wheels'],
]);
