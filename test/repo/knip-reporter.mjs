import { globSync } from 'node:fs';

/**
 * Fails a knip run that did not read the modules, because a checker that reads nothing reports no problem.
 */
export default function assertModulesRead({ counters, cwd }) {
  const modules = globSync('packages/*/src/**/*.ts', { cwd }).filter((file) => !file.endsWith('.test.ts'));
  if (modules.length === 0 || counters.total < modules.length) {
    throw new Error(`knip read ${counters.total} files, but the packages have ${modules.length} modules.`);
  }
  process.stdout.write(`knip read ${counters.total} files (${modules.length} modules in packages).\n`);
}
