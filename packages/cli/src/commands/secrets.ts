import type { StoredSecret } from '@heddle/service';
import { EXIT } from '../exit-code.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { formatLocalTime } from '../render/format.ts';
import { sanitizeLine } from '../render/style.ts';
import { writeTable } from '../render/table.ts';
import { withServiceStore } from '../serve/service-store.ts';
import { requireDataFolder } from '../store-options.ts';
import type { StoreOptions } from '../store-options.ts';
import { UsageError } from '../usage-error.ts';
import { workspaceOf } from './keys.ts';
import { printSuccess, withUsageErrors, readStdinValue, withSealedStore } from './sealed-store.ts';

type SecretsOptions = StoreOptions & { json: boolean };
type WorkspaceOptions = SecretsOptions & { workspace?: string };

/** Sets a secret of a workspace. Reads the value from standard input, because other processes can see arguments. */
export async function setSecret(
  io: Io,
  name: string,
  options: WorkspaceOptions & { description?: string },
): Promise<number> {
  requireDataFolder(options);
  const value = await readStdinValue(io, 'heddle secrets set NAME < FILE');
  const { setStoredSecret } = await import('@heddle/service');
  const isNew = await withSealedStore(options, async (store, { sealer }) => {
    const { workspaceId } = await workspaceOf(store, options.workspace ?? true);
    const { description } = options;
    return withUsageErrors(() =>
      setStoredSecret(store.database, sealer, { workspaceId, name, value, description }),
    );
  });
  if (options.json) writeJson(io, { data: { name, created: isNew } });
  else printSuccess(io, `The secret ${sanitizeLine(name)} is ${isNew ? 'stored' : 'replaced'}.`);
  return EXIT.completed;
}

/** Lists the secrets of a workspace, without their values. */
export async function listSecrets(io: Io, options: WorkspaceOptions): Promise<number> {
  requireDataFolder(options);
  const { listSecrets: list } = await import('@heddle/service');
  const secrets = await withServiceStore(options, async (store) => {
    const { workspaceId } = await workspaceOf(store, options.workspace ?? true);
    return list(store.database, workspaceId);
  });
  if (options.json) writeJson(io, { data: secrets });
  else if (secrets.length === 0) io.stderr.write('No secrets.\n');
  else writeTable(io, ['NAME', 'DESCRIPTION', 'CHANGED'], secrets.map(rowOf));
  return EXIT.completed;
}

function rowOf({ name, description, updatedAt }: StoredSecret): string[] {
  return [sanitizeLine(name), sanitizeLine(description ?? ''), formatLocalTime(Date.parse(updatedAt))];
}

/** Removes a secret of a workspace. */
export async function removeSecret(io: Io, name: string, options: WorkspaceOptions): Promise<number> {
  requireDataFolder(options);
  const { removeStoredSecret } = await import('@heddle/service');
  await withServiceStore(options, async (store) => {
    const { workspaceId } = await workspaceOf(store, options.workspace ?? true);
    if (await removeStoredSecret(store.database, { workspaceId, name })) return;
    throw new UsageError(
      `There is no secret ${sanitizeLine(name)}.`,
      'heddle secrets list shows the names of all secrets.',
    );
  });
  if (options.json) writeJson(io, { data: { name, removed: true } });
  else printSuccess(io, `The secret ${sanitizeLine(name)} is removed.`);
  return EXIT.completed;
}

/** Re-encrypts all secrets, credentials and webhook secrets with a new key. */
export async function resealSecrets(io: Io, options: SecretsOptions): Promise<number> {
  requireDataFolder(options);
  const { resealStoredSecrets } = await import('@heddle/service');
  const result = await withSealedStore(options, (store, { sealer, folderKeys }) =>
    withUsageErrors(() => resealStoredSecrets(store.database, sealer, folderKeys)),
  );
  if (options.json) writeJson(io, { data: result });
  else
    printSuccess(
      io,
      `All secrets are encrypted with the new key ${result.keyId}; ${result.resealed} were re-encrypted.`,
    );
  return EXIT.completed;
}
