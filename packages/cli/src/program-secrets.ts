import { Option } from 'commander';
import type { Command } from 'commander';
import type { Io, SetExitCode } from './io.ts';
import { withStoreOptions } from './run-options.ts';

/** `heddle secrets`: the values of `{{NAME}}` in the workflows of a workspace. */
export function declareSecrets(program: Command, io: Io, setExitCode: SetExitCode): void {
  const secrets = program
    .command('secrets')
    .summary('Manage the secrets of workspaces.')
    .description(
      'Manages the values of {{NAME}} in the workflows of a workspace, even while heddle serve runs. Values are encrypted ' +
        'and never shown. The encryption keys are in HEDDLE_SECRET_KEYS (required with --postgres), or else in ' +
        'the data folder.',
    );
  const setCommand = secrets
    .command('set')
    .description('Sets a secret to the text from standard input, without its last line break.')
    .argument('<name>', 'name of the secret')
    .addOption(new Option('--description <text>', 'what the secret is for'));
  withWorkspaceOptions(setCommand).action(async (name: string, options) => {
    const { setSecret } = await import('./commands/secrets.ts');
    setExitCode(await setSecret(io, name, options));
  });
  withWorkspaceOptions(secrets.command('list').description('Lists secrets without their values.')).action(
    async (options) => {
      const { listSecrets } = await import('./commands/secrets.ts');
      setExitCode(await listSecrets(io, options));
    },
  );
  const removeCommand = secrets
    .command('remove')
    .description('Removes a secret.')
    .argument('<name>', 'name of the secret');
  withWorkspaceOptions(removeCommand).action(async (name: string, options) => {
    const { removeSecret } = await import('./commands/secrets.ts');
    setExitCode(await removeSecret(io, name, options));
  });
  const rotateCommand = secrets
    .command('rotate')
    .description(
      'Encrypts all secrets, credentials and webhook secrets of all workspaces with a new key, while runs continue. ' +
        'The next rotation continues an interrupted one. The new key is the first key in HEDDLE_SECRET_KEYS, if it ' +
        'is set.',
    );
  withStoreOptions(rotateCommand).action(async (options) => {
    const { resealSecrets } = await import('./commands/secrets.ts');
    setExitCode(await resealSecrets(io, options));
  });
}

/** Adds the options of a command about one workspace. */
export function withWorkspaceOptions(command: Command): Command {
  return withStoreOptions(
    command.addOption(new Option('--workspace <id>', 'id of the workspace (default: the only one)')),
  );
}
