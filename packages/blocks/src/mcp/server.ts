import { BlockError } from '@heddle/core/blocks';
import type { HttpClient } from '@heddle/engine';
import type { Context } from '../define.ts';
import type { BlocksOptions, McpServerOptions } from '../options.ts';
import { isServerName } from './names.ts';

interface HttpEndpoint {
  url: string;
  http: HttpClient;
}

interface StdioEndpoint {
  command: NonNullable<McpServerOptions['command']>;
}

/** A server that the operator has configured, and the secret that a block sends to it. */
export interface McpServer {
  name: string;
  endpoint: HttpEndpoint | StdioEndpoint;
  secret: string | undefined;
  options: McpServerOptions;
}

/** The server that a block uses. `credentialId`: the id of a stored credential. */
export interface ServerQuery {
  name: string;
  credentialId: string | undefined;
  options: BlocksOptions;
}

/** Returns the server with this name, and its secret. Throws MCP_SERVER_UNKNOWN, CREDENTIAL_UNKNOWN. */
export async function findServer({ services }: Context, query: ServerQuery): Promise<McpServer> {
  const { name, options } = query;
  const provider = `mcp-${name}`;
  const serverOptions = (options.mcp && Object.hasOwn(options.mcp, name) && options.mcp[name]) || {};
  const stdioServer = stdioServerOf(query, serverOptions);
  if (stdioServer) return stdioServer;
  const { baseUrl, credential, http } = isServerName(name)
    ? await services.service(provider)
    : { baseUrl: undefined, credential: undefined, http: undefined };
  if (baseUrl === undefined || !http)
    throw new BlockError(
      'MCP_SERVER_UNKNOWN',
      `There is no MCP server "${name.slice(0, 100)}". Configure it with --mcp NAME=URL or --mcp-command NAME=COMMAND.`,
      { retryable: false },
    );
  const secret = query.credentialId
    ? await readSelectedSecret(services, provider, query.credentialId)
    : (credential ?? (await readStoredSecret(services, provider)));
  return { name, endpoint: { url: baseUrl, http }, secret, options: serverOptions };
}

/** Returns the server if it is a stdio server. Throws CREDENTIAL_UNKNOWN if an author has named a credential for it. */
function stdioServerOf(
  { name, credentialId }: ServerQuery,
  options: McpServerOptions,
): McpServer | undefined {
  const { command } = options;
  if (!command) return undefined;
  if (credentialId === undefined || credentialId === '')
    return { name, endpoint: { command }, secret: undefined, options };
  throw new BlockError(
    'CREDENTIAL_UNKNOWN',
    `The MCP server "${name}" is a stdio server, which does not use stored credentials.`,
    { retryable: false },
  );
}

/**
 * Returns the secret of the selected credential. Throws CREDENTIAL_UNKNOWN if the credential does not belong to this
 * server's provider: an author could otherwise send any credential to the server.
 */
async function readSelectedSecret(
  services: Context['services'],
  provider: string,
  id: string,
): Promise<string> {
  const credential = await services.credential({ id });
  if (credential?.provider === provider) return credential.secret;
  throw new BlockError(
    'CREDENTIAL_UNKNOWN',
    `The MCP server needs a stored credential of the provider "${provider}", but the selected credential does not exist or has another provider.`,
    { retryable: false },
  );
}

async function readStoredSecret(
  services: Context['services'],
  provider: string,
): Promise<string | undefined> {
  const credential =
    (await services.credential({ provider, type: 'oauth' })) ??
    (await services.credential({ provider, type: 'api_key' }));
  return credential?.secret;
}
