import packageJson from '../package.json' with { type: 'json' };

/**
 * The exit code of the command line `argv` (without node and script): 0 done, 2 usage.
 */
export async function main(argv: readonly string[]): Promise<number> {
  if (argv[0] === '--version') {
    process.stdout.write(`${packageJson.version}\n`);
    return 0;
  }
  process.stderr.write('usage: heddle --version\n');
  return 2;
}
