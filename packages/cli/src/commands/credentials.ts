import type { StoredCredential } from '@heddle/service/credentials';
import { EXIT } from '../exit-code.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { sanitizeLine } from '../render/style.ts';
import { writeTable } from '../render/table.ts';
import { CLIENTS_FILE_VARIABLE, oauthClientsOf } from '../serve/oauth-clients.ts';
import { listenForRedirect } from '../serve/redirect-listener.ts';
import type { RedirectListener } from '../serve/redirect-listener.ts';
import { withServiceStore } from '../serve/service-store.ts';
import { requireDataFolder } from '../store-options.ts';
import type { StoreOptions } from '../store-options.ts';
import { UsageError } from '../usage-error.ts';
import { workspaceOf } from './keys.ts';
import { printSuccess, withUsageErrors, readStdinValue, withSealedStore } from './sealed-store.ts';

type WorkspaceOptions = StoreOptions & { json: boolean; workspace?: string };

export type AddOptions = WorkspaceOptions & {
  provider: string;
  description?: string;
  /** True if the value is the key of a service account, which may have several lines. */
  serviceAccount: boolean;
  /** True to connect an account instead: a person authorizes the operator's OAuth client. */
  oauth: boolean;
  /** Time limit of the authorization, in milliseconds. */
  timeout: number;
};

/**
 * Stores a credential of a workspace. Reads the key from standard input, because other processes can see arguments.
 */
export async function addCredential(io: Io, name: string, options: AddOptions): Promise<number> {
  requireDataFolder(options);
  if (options.oauth) return connectAccount(io, name, options);
  const { provider, description, serviceAccount } = options;
  const key = await readStdinValue(io, 'heddle credentials add NAME --provider PROVIDER < FILE');
  const { storeCredential } = await import('@heddle/service/credentials');
  const storeResult = await withSealedStore(options, async (store, { sealer }) => {
    const { workspaceId } = await workspaceOf(store, options.workspace ?? true);
    const type = serviceAccount ? 'service_account' : 'api_key';
    const credential = { workspaceId, name, provider, description, material: { type, key } } as const;
    return withUsageErrors(() => storeCredential(store.database, sealer, credential));
  });
  printStoredCredential(io, storeResult, options);
  return EXIT.completed;
}

/** Connects an account with OAuth: prints a URL to open in a browser, and waits for the redirect to this machine. */
async function connectAccount(io: Io, name: string, options: AddOptions): Promise<number> {
  const { provider, description, timeout } = options;
  const { OAuthError, storeCredential } = await import('@heddle/service/credentials');
  const clients = await oauthClientsOf({});
  const storeResult = await withSealedStore(options, async (store, { sealer }) => {
    const { workspaceId } = await workspaceOf(store, options.workspace ?? true);
    let listener: RedirectListener | undefined;
    try {
      listener = await listenForRedirect(clients.clientConfigOf(provider).redirectPort ?? 0);
      const authorization = await clients.authorize(provider, listener.redirectUri);
      io.stderr.write(`Open this URL in a browser on this machine:\n${authorization.url}\n`);
      const redirectUrl = await listener.waitForRedirect(authorization.state, timeout);
      const { material, account } = await clients.exchange(provider, authorization, redirectUrl);
      const credential = { workspaceId, name, provider, description, account, material };
      return await withUsageErrors(() => storeCredential(store.database, sealer, credential));
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error;
      throw new UsageError(error.message, `${CLIENTS_FILE_VARIABLE} is the file with the OAuth clients.`);
    } finally {
      listener?.close();
    }
  });
  printStoredCredential(io, storeResult, options);
  return EXIT.completed;
}

function printStoredCredential(
  io: Io,
  { credential, isNew }: { credential: StoredCredential; isNew: boolean },
  { json }: { json: boolean },
): void {
  if (json) writeJson(io, { data: { ...credential, created: isNew } });
  else {
    io.stdout.write(`${credential.id}\n`);
    printSuccess(io, `The credential ${sanitizeLine(credential.name)} is ${isNew ? 'stored' : 'replaced'}.`);
  }
}

/** Lists the credentials of a workspace, without their secrets. */
export async function listCredentials(io: Io, options: WorkspaceOptions): Promise<number> {
  requireDataFolder(options);
  const { listCredentials: list } = await import('@heddle/service/credentials');
  const credentials = await withServiceStore(options, async (store) => {
    const { workspaceId } = await workspaceOf(store, options.workspace ?? true);
    return list(store.database, workspaceId);
  });
  if (options.json) writeJson(io, { data: credentials });
  else if (credentials.length === 0) io.stderr.write('No credentials.\n');
  else {
    const titles = ['NAME', 'PROVIDER', 'TYPE', 'STATE', 'ID', 'DESCRIPTION'];
    writeTable(io, titles, credentials.map(rowOf));
  }
  return EXIT.completed;
}

function rowOf({ id, name, provider, type, state, description }: StoredCredential): string[] {
  return [sanitizeLine(name), provider, type, state, sanitizeLine(id), sanitizeLine(description ?? '')];
}

/** Removes a credential of a workspace. */
export async function removeCredential(io: Io, name: string, options: WorkspaceOptions): Promise<number> {
  requireDataFolder(options);
  const { removeStoredCredential } = await import('@heddle/service/credentials');
  await withServiceStore(options, async (store) => {
    const { workspaceId } = await workspaceOf(store, options.workspace ?? true);
    if (await removeStoredCredential(store.database, { workspaceId, name })) return;
    throw new UsageError(
      `There is no credential ${sanitizeLine(name)}.`,
      'heddle credentials list shows the names of all credentials.',
    );
  });
  if (options.json) writeJson(io, { data: { name, removed: true } });
  else printSuccess(io, `The credential ${sanitizeLine(name)} is removed.`);
  return EXIT.completed;
}
