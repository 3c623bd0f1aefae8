import type { StoredCredential } from '@heddle/service/credentials';
import { EXIT } from '../exit-code.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { safeLine, styleFor } from '../render/style.ts';
import { table } from '../render/table.ts';
import { withServiceStore } from '../serve/service-store.ts';
import { expectData } from '../store-options.ts';
import type { StoreOptions } from '../store-options.ts';
import { UsageError } from '../usage-error.ts';
import { workspaceOf } from './keys.ts';
import { done, usage, valueFrom, withSealedStore } from './sealed-store.ts';

type WorkspaceOptions = StoreOptions & { json: boolean; workspace?: string };

export type AddOptions = WorkspaceOptions & {
  provider: string;
  description?: string;
  /** The value is the key of a service account, which may have several lines. */
  serviceAccount: boolean;
};

/** Stores a credential of a workspace. The key comes from standard input, since arguments are visible to other processes. */
export async function addCredential(io: Io, name: string, options: AddOptions): Promise<number> {
  expectData(options);
  const { provider, description, serviceAccount } = options;
  const key = await valueFrom(io, 'heddle credentials add NAME --provider PROVIDER < FILE');
  const { storeCredential } = await import('@heddle/service/credentials');
  const stored = await withSealedStore(options, async (store, { sealer }) => {
    const { workspaceId } = await workspaceOf(store, options.workspace ?? true);
    const type = serviceAccount ? 'service_account' : 'api_key';
    const given = { workspaceId, name, provider, description, material: { type, key } } as const;
    return usage(() => storeCredential(store.database, sealer, given));
  });
  printStored(io, stored, options);
  return EXIT.completed;
}

function printStored(
  io: Io,
  { credential, isNew }: { credential: StoredCredential; isNew: boolean },
  { json }: { json: boolean },
): void {
  if (json) writeJson(io, { data: { ...credential, created: isNew } });
  else {
    io.stdout.write(`${credential.id}\n`);
    done(io, `The credential ${safeLine(credential.name)} is ${isNew ? 'stored' : 'replaced'}.`);
  }
}

/** Lists the credentials of a workspace, without their secrets. */
export async function listCredentials(io: Io, options: WorkspaceOptions): Promise<number> {
  expectData(options);
  const { listCredentials: list } = await import('@heddle/service/credentials');
  const credentials = await withServiceStore(options, async (store) => {
    const { workspaceId } = await workspaceOf(store, options.workspace ?? true);
    return list(store.database, workspaceId);
  });
  if (options.json) writeJson(io, { data: credentials });
  else if (credentials.length === 0) io.stderr.write('No credentials.\n');
  else {
    const titles = ['NAME', 'PROVIDER', 'TYPE', 'STATE', 'ID', 'DESCRIPTION'];
    const head = titles.map((title) => styleFor(io.stdout).dim(title));
    io.stdout.write(`${table([head, ...credentials.map(row)]).join('\n')}\n`);
  }
  return EXIT.completed;
}

function row({ id, name, provider, type, state, description }: StoredCredential): string[] {
  return [safeLine(name), provider, type, state, safeLine(id), safeLine(description ?? '')];
}

/** Removes a credential of a workspace. */
export async function removeCredential(io: Io, name: string, options: WorkspaceOptions): Promise<number> {
  expectData(options);
  const { removeStoredCredential } = await import('@heddle/service/credentials');
  await withServiceStore(options, async (store) => {
    const { workspaceId } = await workspaceOf(store, options.workspace ?? true);
    if (await removeStoredCredential(store.database, { workspaceId, name })) return;
    throw new UsageError(
      `There is no credential ${safeLine(name)}.`,
      'heddle credentials list shows the names of all credentials.',
    );
  });
  if (options.json) writeJson(io, { data: { name, removed: true } });
  else done(io, `The credential ${safeLine(name)} is removed.`);
  return EXIT.completed;
}
