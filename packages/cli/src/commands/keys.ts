import type { ApiStore, KeyShown } from '@heddle/api';
import { EXIT } from '../exit-code.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import type { StoreOptions } from '../place.ts';
import { localTime } from '../render/format.ts';
import { safeLine, styleFor } from '../render/style.ts';
import { table } from '../render/table.ts';
import { withRecords } from '../serve/api-store.ts';
import { UsageError } from '../usage-error.ts';

type KeysOptions = StoreOptions & { json: boolean };

/** Creates a key and prints it: on stdout alone, so that it can be piped. */
export async function createKey(
  io: Io,
  options: KeysOptions & { name: string; workspace?: string },
): Promise<number> {
  const created = await withRecords(options, async (store) => {
    const { workspace, name } = options;
    const owner =
      workspace === undefined ? { userId: await firstPerson(store) } : await known(store, workspace);
    return store.keys.create(owner, name);
  });
  if (options.json) writeJson(io, { data: created });
  else {
    io.stdout.write(`${created.key}\n`);
    io.stderr.write(styleFor(io.stderr).dim('It is shown this once.\n'));
  }
  return EXIT.completed;
}

async function firstPerson(store: ApiStore): Promise<string> {
  const began = await store.workspaces.begin();
  const userId = began?.userId ?? (await store.workspaces.firstUser())?.id;
  if (userId === undefined)
    throw new UsageError('There is nobody yet whom a key could be for.', 'Run heddle serve once.');
  return userId;
}

async function known(store: ApiStore, workspaceId: string): Promise<{ workspaceId: string }> {
  const all = await store.workspaces.list();
  if (all.some(({ id }) => id === workspaceId)) return { workspaceId };
  const names = all.map(({ id, name }) => `${name} (${id})`).join(', ');
  throw new UsageError(
    `There is no workspace ${workspaceId}.`,
    `There are: ${names === '' ? 'none' : names}`,
  );
}

/** Lists keys, oldest first. */
export async function listKeys(io: Io, options: KeysOptions): Promise<number> {
  const keys = await withRecords(options, (store) => store.keys.list());
  if (options.json) {
    writeJson(io, { data: keys });
    return EXIT.completed;
  }
  if (keys.length === 0) {
    io.stderr.write('No keys.\n');
    return EXIT.completed;
  }
  const style = styleFor(io.stdout);
  const head = ['KEY', 'NAME', 'OF', 'ENDS WITH', 'CREATED', 'LAST USED', 'STATE'].map((title) =>
    style.dim(title),
  );
  io.stdout.write(`${table([head, ...keys.map(row)]).join('\n')}\n`);
  return EXIT.completed;
}

function row(key: KeyShown): string[] {
  const used = key.last_used_at === null ? 'never' : localTime(Date.parse(key.last_used_at));
  return [
    key.id.slice(0, 8),
    safeLine(key.name),
    key.kind === 'personal' ? 'a person' : 'the workspace',
    key.hint,
    localTime(Date.parse(key.created_at)),
    used,
    key.revoked_at === null ? 'valid' : 'revoked',
  ];
}

/** Revokes a key: every process refuses it from now on. */
export async function revokeKey(io: Io, key: string, options: KeysOptions): Promise<number> {
  const id = await withRecords(options, async (store) => {
    const found = (await store.keys.list()).filter((each) => each.id.startsWith(key));
    const [one] = found;
    if (!one || key === '')
      throw new UsageError(`There is no key ${key}.`, 'heddle keys list has all of them.');
    if (found.length > 1) throw new UsageError(`Several keys begin with ${key}.`, 'Give more of the id.');
    if (!(await store.keys.revoke(one.id))) throw new UsageError(`The key ${one.id} was revoked before.`);
    return one.id;
  });
  if (options.json) writeJson(io, { data: { id, revoked: true } });
  else io.stderr.write(`${styleFor(io.stderr).green('✓')} The key ${id} is revoked.\n`);
  return EXIT.completed;
}
