import type { ServiceStore } from '@heddle/service';
import { EXIT } from '../exit-code.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { sanitize, sanitizeLine } from '../render/style.ts';
import { writeTable } from '../render/table.ts';
import { withServiceStore } from '../serve/service-store.ts';
import { requireDataFolder } from '../store-options.ts';
import type { StoreOptions } from '../store-options.ts';
import { UsageError } from '../usage-error.ts';
import { workspaceOf } from './keys.ts';
import { printSuccess, withUsageErrors, readStdinValue } from './sealed-store.ts';

type WorkspaceOptions = StoreOptions & { json: boolean; workspace?: string };

export type AddOptions = WorkspaceOptions & { description?: string };

/** Calls `use` with the store and the id of the workspace. */
function withWorkspaceStore<T>(
  options: WorkspaceOptions,
  use: (store: ServiceStore, workspaceId: string) => Promise<T>,
): Promise<T> {
  requireDataFolder(options);
  return withServiceStore(options, async (store) => {
    const { workspaceId } = await workspaceOf(store, options.workspace ?? true);
    return use(store, workspaceId);
  });
}

/** Stores the text from standard input as a skill of a workspace, or replaces the skill of this name. */
export async function addSkill(io: Io, name: string, options: AddOptions): Promise<number> {
  const { description } = options;
  const content = await readStdinValue(io, 'heddle skills add NAME --description TEXT < FILE');
  const { storeSkill } = await import('@heddle/service/skills');
  const { skill, isNew } = await withWorkspaceStore(options, (store, workspaceId) =>
    withUsageErrors(() => storeSkill(store.database, { workspaceId, name, description, content })),
  );
  if (options.json) writeJson(io, { data: { ...skill, created: isNew } });
  else {
    io.stdout.write(`${skill.id}\n`);
    printSuccess(io, `The skill ${sanitizeLine(name)} is ${isNew ? 'stored' : 'replaced'}.`);
  }
  return EXIT.completed;
}

/** Lists the skills of a workspace. */
export async function listSkills(io: Io, options: WorkspaceOptions): Promise<number> {
  const { listStoredSkills } = await import('@heddle/service/skills');
  const skills = await withWorkspaceStore(options, (store, workspaceId) =>
    listStoredSkills(store.database, workspaceId),
  );
  if (options.json) writeJson(io, { data: skills });
  else if (skills.length === 0) io.stderr.write('No skills.\n');
  else {
    const rows = skills.map(({ name, id, updatedAt, description }) => [
      ...[sanitizeLine(name), id, updatedAt, sanitizeLine(description)],
    ]);
    writeTable(io, ['NAME', 'ID', 'CHANGED', 'DESCRIPTION'], rows);
  }
  return EXIT.completed;
}

/** Prints the text of a skill. */
export async function showSkill(io: Io, name: string, options: WorkspaceOptions): Promise<number> {
  const { findStoredSkill } = await import('@heddle/service/skills');
  const skill = await withWorkspaceStore(options, (store, workspaceId) =>
    findStoredSkill(store.database, { workspaceId, name }),
  );
  if (!skill) throw unknownSkillError(name);
  if (options.json) writeJson(io, { data: skill });
  else io.stdout.write(`${sanitize(skill.content)}\n`);
  return EXIT.completed;
}

/** Removes a skill of a workspace. */
export async function removeSkill(io: Io, name: string, options: WorkspaceOptions): Promise<number> {
  const { removeStoredSkill } = await import('@heddle/service/skills');
  const existed = await withWorkspaceStore(options, (store, workspaceId) =>
    removeStoredSkill(store.database, { workspaceId, name }),
  );
  if (!existed) throw unknownSkillError(name);
  if (options.json) writeJson(io, { data: { name, removed: true } });
  else printSuccess(io, `The skill ${sanitizeLine(name)} is removed.`);
  return EXIT.completed;
}

function unknownSkillError(name: string): UsageError {
  return new UsageError(
    `There is no skill ${sanitizeLine(name)}.`,
    'heddle skills list shows the names of all skills.',
  );
}
