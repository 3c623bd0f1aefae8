import { readFile } from 'node:fs/promises';
import type { OAuthClients, RefreshOptions } from '@heddle/service/credentials';
import { egressOf } from '../block-options.ts';
import type { BlockOptions } from '../block-options.ts';
import { readEnv } from '../env.ts';
import { UsageError } from '../usage-error.ts';

/** Variable with the file of the operator's OAuth clients. */
export const CLIENTS_FILE = 'HEDDLE_OAUTH_CLIENTS';

/**
 * Returns the OAuth clients of the file in the variable; none if it is not set. Throws a usage error that does not show secrets.
 */
export async function oauthClientsOf(options: BlockOptions): Promise<OAuthClients> {
  const { OAuthClients: Clients, readOAuthClients } = await import('@heddle/service/credentials');
  const env = readEnv();
  const file = env.value(CLIENTS_FILE);
  const egress = await egressOf(options, env);
  if (file === undefined) return new Clients({ clients: {}, egress });
  try {
    return new Clients({ clients: readOAuthClients(await readFile(file, 'utf8')), egress });
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${CLIENTS_FILE}: ${why}`, 'docs/credentials.md has an example.');
  }
}

/** Returns how tokens are refreshed in this process. Failures and lost connections go to `report`. */
export async function refreshOptionsOf(
  options: BlockOptions,
  report: (error: unknown) => void,
): Promise<RefreshOptions> {
  return {
    clients: await oauthClientsOf(options),
    report,
    onEvent: ({ name, provider, workspaceId }) => {
      const what = `${JSON.stringify(name)} of ${provider} in the workspace ${workspaceId}`;
      report(new Error(`The credential ${what} must be connected again: heddle credentials add --oauth.`));
    },
  };
}
