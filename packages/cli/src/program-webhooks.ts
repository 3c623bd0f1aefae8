import { Option } from 'commander';
import type { Command } from 'commander';
import type { Io, SetExitCode } from './io.ts';
import { serverOptions } from './program-serve.ts';
import { parseCount, jsonDataOption, withOptions } from './run-options.ts';

const WEBHOOK_DESCRIPTION = 'id of the webhook, or name or id of a workflow with one webhook';

/** `heddle webhooks`: a client of a server's HTTP API. */
export function declareWebhooks(program: Command, io: Io, setExitCode: SetExitCode): void {
  const webhooks = program
    .command('webhooks')
    .summary('List the webhooks of a server, and their deliveries.')
    .description(
      'Shows the webhooks of deployed workflows on a server (heddle serve). Set HEDDLE_API_KEY to a key of the server.',
    );
  const listCommand = webhooks
    .command('list')
    .description('Lists the webhooks of a workspace with their URLs.');
  withOptions(listCommand, [...serverOptions(), jsonDataOption('[webhooks]')]).action(async (options) => {
    const { listWebhooks } = await import('./commands/webhooks.ts');
    setExitCode(await listWebhooks(io, options));
  });
  const deliveriesCommand = webhooks
    .command('deliveries')
    .description('Lists the latest deliveries that a webhook has accepted.')
    .argument('<webhook>', WEBHOOK_DESCRIPTION);
  withOptions(deliveriesCommand, [
    new Option('--limit <count>', 'maximum number of deliveries').argParser(parseCount).default(50),
    ...serverOptions(),
    jsonDataOption('[deliveries]'),
  ]).action(async (webhook: string, options) => {
    const { listDeliveries } = await import('./commands/webhooks.ts');
    setExitCode(await listDeliveries(io, webhook, options));
  });
  const replayCommand = webhooks
    .command('replay')
    .description('Starts a run of the live version with the input of a delivery. Prints the id of the run.')
    .argument('<webhook>', WEBHOOK_DESCRIPTION)
    .argument('<delivery>', 'id of the delivery');
  withOptions(replayCommand, [...serverOptions(), jsonDataOption('run')]).action(
    async (webhook: string, delivery: string, options) => {
      const { replayDelivery } = await import('./commands/webhooks.ts');
      setExitCode(await replayDelivery(io, [webhook, delivery], options));
    },
  );
}
