import type { Area } from '@heddle/api';
import type { ServiceStore } from '../store/open.ts';
import type { SkillServices } from './access.ts';
import { grantSkillEditor, listSkillEditors, revokeSkillEditor } from './editor-operations.ts';
import { SKILL_MIGRATIONS } from './migrations.ts';
import { createSkill, deleteSkill, getSkill, listSkills, updateSkill } from './operations.ts';

export const SKILL_OPERATIONS = {
  listSkills,
  createSkill,
  getSkill,
  updateSkill,
  deleteSkill,
  listSkillEditors,
  grantSkillEditor,
  revokeSkillEditor,
} as const;

/** Returns the area (a module of API operations with its own tables) of skills, which agents use. */
export function skills({ store }: { store: ServiceStore }): Area<SkillServices, typeof SKILL_OPERATIONS> {
  return {
    name: 'skills',
    operations: SKILL_OPERATIONS,
    migrations: SKILL_MIGRATIONS,
    services: ({ now }) => ({ store, now }),
  };
}
