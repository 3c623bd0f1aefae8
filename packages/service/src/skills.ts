/** The skills of workspaces. */
export { findStoredSkill, listStoredSkills, removeStoredSkill, storeSkill } from './skills/manage.ts';
export type { SkillNameKey, StoredSkill } from './skills/manage.ts';
export { storedSkills } from './skills/tenant-skills.ts';
export type { TenantSkills } from './skills/tenant-skills.ts';
