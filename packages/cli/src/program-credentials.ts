import { Option } from 'commander';
import type { Command } from 'commander';
import type { AddOptions } from './commands/credentials.ts';
import type { Io, SetExitCode } from './io.ts';
import { withWorkspaceOptions } from './program-secrets.ts';
import { parseSecondsAsMs } from './run-options.ts';

/** `heddle credentials`: keys and accounts of providers that the workflows of a workspace use. */
export function declareCredentials(program: Command, io: Io, setExitCode: SetExitCode): void {
  const credentials = program
    .command('credentials')
    .summary('Manage the stored credentials of workspaces.')
    .description(
      'Manages keys and accounts of providers that the workflows of a workspace use, even while heddle serve runs. They are ' +
        'encrypted and never shown. The encryption keys are in HEDDLE_SECRET_KEYS (required with --postgres), ' +
        'or else in the data folder.',
    );
  const addCommand = credentials
    .command('add')
    .description(
      'Stores the key from standard input, or an account with --oauth. Replaces an existing credential of this ' +
        'name. Prints the id.',
    )
    .argument('<name>', 'name of the credential')
    .addOption(new Option('--provider <name>', 'provider, such as openai').makeOptionMandatory())
    .addOption(new Option('--service-account', 'the key is that of a service account').default(false))
    .addOption(
      new Option(
        '--oauth',
        'connect an account instead: prints an authorization URL of the OAuth client in HEDDLE_OAUTH_CLIENTS',
      )
        .default(false)
        .conflicts('serviceAccount'),
    )
    .addOption(
      new Option('--timeout <seconds>', 'time limit of the authorization, in seconds')
        .argParser(parseSecondsAsMs)
        .default(300_000, '300'),
    )
    .addOption(new Option('--description <text>', 'what the credential is for'));
  withWorkspaceOptions(addCommand).action(async (name: string, options: AddOptions) => {
    const { addCredential } = await import('./commands/credentials.ts');
    setExitCode(await addCredential(io, name, options));
  });
  const listCommand = credentials.command('list').description('Lists credentials without their secrets.');
  withWorkspaceOptions(listCommand).action(async (options) => {
    const { listCredentials } = await import('./commands/credentials.ts');
    setExitCode(await listCredentials(io, options));
  });
  const removeCommand = credentials
    .command('remove')
    .description('Removes a credential.')
    .argument('<name>', 'name of the credential');
  withWorkspaceOptions(removeCommand).action(async (name: string, options) => {
    const { removeCredential } = await import('./commands/credentials.ts');
    setExitCode(await removeCredential(io, name, options));
  });
}
