import type { ApiKeyInfo, ServiceStore } from '@heddle/service';
import { EXIT } from '../exit-code.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { requireDataFolder } from '../store-options.ts';
import type { StoreOptions } from '../store-options.ts';
import { formatLocalTime } from '../render/format.ts';
import { sanitizeLine, styleFor } from '../render/style.ts';
import { writeTable } from '../render/table.ts';
import { withServiceStore } from '../serve/service-store.ts';
import { UsageError } from '../usage-error.ts';

type KeysOptions = StoreOptions & { json: boolean };

/** Creates a key and prints it: stdout has only the key, so that it can be piped. */
export async function createKey(
  io: Io,
  options: KeysOptions & { name: string; workspace?: string | true },
): Promise<number> {
  const createdKey = await withServiceStore(options, async (store) => {
    const { workspace, name } = options;
    const owner =
      workspace === undefined
        ? { userId: await ensureFirstUserId(store) }
        : await workspaceOf(store, workspace);
    return store.keys.create(owner, name);
  });
  if (options.json) writeJson(io, { data: createdKey });
  else {
    io.stdout.write(`${createdKey.key}\n`);
    io.stderr.write(styleFor(io.stderr).dim('The key is shown only once.\n'));
  }
  return EXIT.completed;
}

async function ensureFirstUserId(store: ServiceStore): Promise<string> {
  const bootstrapResult = await store.workspaces.bootstrap();
  const userId = bootstrapResult?.userId ?? (await store.workspaces.findFirstUser())?.id;
  if (userId === undefined)
    throw new UsageError(
      'There is no user yet who can own a key.',
      'Run heddle serve once: it creates the first one.',
    );
  return userId;
}

/** Returns the workspace whose id has this prefix; `true`: the only workspace. Throws usage errors. */
export async function workspaceOf(
  store: ServiceStore,
  prefix: string | true,
): Promise<{ workspaceId: string }> {
  const workspaces = await store.workspaces.list();
  const [workspace, ...others] =
    prefix === true ? workspaces : workspaces.filter(({ id }) => id.startsWith(prefix));
  if (workspace && others.length === 0) return { workspaceId: workspace.id };
  const names = workspaces.map(({ id, name }) => `${sanitizeLine(name)} (${id})`).join(', ');
  throw new UsageError(
    workspace ? `${others.length + 1} workspaces match.` : 'There is no such workspace.',
    names === '' ? 'Run heddle serve once: it creates one.' : `Use the id of one: ${names}`,
  );
}

/** Lists keys, oldest first. */
export async function listKeys(io: Io, options: KeysOptions): Promise<number> {
  requireDataFolder(options);
  const keys = await withServiceStore(options, (store) => store.keys.list());
  if (options.json) {
    writeJson(io, { data: keys.map(toApiResource) });
    return EXIT.completed;
  }
  if (keys.length === 0) {
    io.stderr.write('No keys.\n');
    return EXIT.completed;
  }
  writeTable(io, ['KEY', 'NAME', 'OWNER', 'ENDS WITH', 'CREATED', 'LAST USED', 'STATE'], keys.map(rowOf));
  return EXIT.completed;
}

/** Returns the key as in the HTTP API. */
function toApiResource(key: ApiKeyInfo): { [name: string]: string | null } {
  const {
    user_id: userId,
    workspace_id: workspaceId,
    created_at: createdAt,
    expires_at: expiresAt,
    last_used_at: lastUsedAt,
    revoked_at: revokedAt,
    ...otherFields
  } = key;
  return { ...otherFields, userId, workspaceId, createdAt, expiresAt, lastUsedAt, revokedAt };
}

function rowOf(key: ApiKeyInfo): string[] {
  const lastUsed = key.last_used_at === null ? 'never' : formatLocalTime(Date.parse(key.last_used_at));
  return [
    key.id.slice(0, 8),
    sanitizeLine(key.name),
    key.kind === 'personal' ? 'user' : 'workspace',
    key.hint,
    formatLocalTime(Date.parse(key.created_at)),
    lastUsed,
    stateOf(key),
  ];
}

function stateOf({ revoked_at: revokedAt, expires_at: expiresAt }: ApiKeyInfo): string {
  if (revokedAt !== null) return 'revoked';
  return expiresAt !== null && Date.parse(expiresAt) <= Date.now() ? 'expired' : 'valid';
}

/** Revokes the key whose id has this prefix: every process rejects it from now on. */
export async function revokeKey(io: Io, idPrefix: string, options: KeysOptions): Promise<number> {
  requireDataFolder(options);
  const id = await withServiceStore(options, async (store) => {
    const matches = (await store.keys.list()).filter((candidate) => candidate.id.startsWith(idPrefix));
    const [key] = matches;
    if (!key || idPrefix === '')
      throw new UsageError(`There is no key ${idPrefix}.`, 'heddle keys list shows all keys.');
    if (matches.length > 1)
      throw new UsageError(`Several keys start with ${idPrefix}.`, 'Use a longer prefix of the id.');
    if (!(await store.keys.revoke(key.id))) throw new UsageError(`The key ${key.id} is already revoked.`);
    return key.id;
  });
  if (options.json) writeJson(io, { data: { id, revoked: true } });
  else io.stderr.write(`${styleFor(io.stderr).green('✓')} The key ${id} is revoked.\n`);
  return EXIT.completed;
}

/** Lists workspaces, oldest first. */
export async function listWorkspaces(io: Io, options: KeysOptions): Promise<number> {
  requireDataFolder(options);
  const workspaces = await withServiceStore(options, (store) => store.workspaces.list());
  if (options.json) writeJson(io, { data: workspaces });
  else if (workspaces.length === 0) io.stderr.write('No workspaces. heddle serve creates the first one.\n');
  else {
    const rows = workspaces.map(({ id, name, personalKeys }) => [
      id,
      sanitizeLine(name),
      onOrOff(personalKeys),
    ]);
    writeTable(io, ['WORKSPACE', 'NAME', 'PERSONAL KEYS'], rows);
  }
  return EXIT.completed;
}

function onOrOff(isOn: boolean): 'on' | 'off' {
  return isOn ? 'on' : 'off';
}

/** Changes the settings of a workspace, even while a server runs. */
export async function setWorkspace(
  io: Io,
  workspace: string,
  options: KeysOptions & { personalKeys: 'on' | 'off' },
): Promise<number> {
  requireDataFolder(options);
  const personalKeys = options.personalKeys === 'on';
  const workspaceId = await withServiceStore(options, async (store) => {
    const { workspaceId: id } = await workspaceOf(store, workspace);
    await store.workspaces.setPersonalKeysAllowed(id, personalKeys);
    return id;
  });
  if (options.json) writeJson(io, { data: { id: workspaceId, personalKeys } });
  else io.stdout.write(`${workspaceId}: personal keys ${onOrOff(personalKeys)}\n`);
  return EXIT.completed;
}
