import { readFile } from 'node:fs/promises';
import type { OAuthClients, RefreshOptions } from '@heddle/service/credentials';
import { egressOf } from '../block-options.ts';
import type { BlockOptions } from '../block-options.ts';
import { readEnv } from '../env.ts';
import { UsageError } from '../usage-error.ts';

/** Environment variable with the path of the file that has the operator's OAuth clients. */
export const CLIENTS_FILE_VARIABLE = 'HEDDLE_OAUTH_CLIENTS';

/**
 * Returns the OAuth clients from the file that HEDDLE_OAUTH_CLIENTS names; none if it is unset. Throws usage errors
 * that do not show secrets.
 */
export async function oauthClientsOf(options: BlockOptions): Promise<OAuthClients> {
  const { OAuthClients: Clients, readOAuthClients } = await import('@heddle/service/credentials');
  const env = readEnv();
  const file = env.value(CLIENTS_FILE_VARIABLE);
  const egress = await egressOf(options, env);
  if (file === undefined) return new Clients({ clients: {}, egress });
  try {
    return new Clients({ clients: readOAuthClients(await readFile(file, 'utf8')), egress });
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    throw new UsageError(`${CLIENTS_FILE_VARIABLE}: ${reason}`, 'docs/credentials.md has an example.');
  }
}

/**
 * Returns the options for refreshing tokens in this process. Calls `onError` with failures, and with an error for each
 * credential that must be connected again.
 */
export async function refreshOptionsOf(
  options: BlockOptions,
  onError: (error: unknown) => void,
): Promise<RefreshOptions> {
  return {
    clients: await oauthClientsOf(options),
    onError,
    onEvent: ({ name, provider, workspaceId }) => {
      const label = `${JSON.stringify(name)} of ${provider} in the workspace ${workspaceId}`;
      onError(new Error(`The credential ${label} must be connected again: heddle credentials add --oauth.`));
    },
  };
}
