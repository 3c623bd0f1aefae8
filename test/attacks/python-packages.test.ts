import { pythonPackageAttacks } from './python/packages.ts';
import { testStoredFiles, testTenantIsolation, useHostileImages } from './stored-images.ts';
import { testAttacks } from './suite.ts';

const hostileImages = useHostileImages('wheels');

testAttacks(pythonPackageAttacks, { sandbox: { images: hostileImages.images, python: { maxProcesses: 1 } } });

testTenantIsolation(hostileImages, 'python', 'wheels', [
  'import remembers\nremembers.keep("secret")\nreturn 1',
  'import remembers\nreturn remembers.recall()',
]);

testStoredFiles(hostileImages, 'python', [
  ['memory.snap', 'wheels'],
  ['site.zip', 'wheels'],
]);
