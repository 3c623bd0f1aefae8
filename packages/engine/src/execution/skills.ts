import { tenantAccess } from './tenant-access.ts';
import type { TenantPortContext } from './tenant-access.ts';

/** The id, name and description of a skill. A skill is a text with instructions, which an agent reads when needed. */
interface SkillSummary {
  id: string;
  /** Unique among the skills of the tenant. */
  name: string;
  /** The purpose of the skill. */
  description: string;
}

/** A skill with its text. */
interface Skill extends SkillSummary {
  content: string;
}

/** Source of the skills that tenants have stored. `tenant` is undefined for a workflow without a tenant. */
export interface TenantSkills {
  /**
   * Returns the tenant's existing skills with these ids or names, in any order. An id takes precedence over an equal
   * name. Errors are reported, and the block fails with SKILLS_UNAVAILABLE.
   */
  find(
    this: void,
    tenant: string | undefined,
    references: readonly string[],
  ): Promise<SkillSummary[]> | SkillSummary[];
  /** Returns the tenant's skill with this id; undefined if there is none. */
  read(this: void, tenant: string | undefined, id: string): Promise<Skill | undefined> | Skill | undefined;
}

/** The skills that the run's tenant has stored. Throws SKILLS_UNAVAILABLE if they cannot be read now. */
export interface Skills {
  /** Returns the existing skills with these ids or names. Returns undefined if the engine has no source of skills. */
  find(references: readonly string[]): Promise<SkillSummary[] | undefined>;
  /** Returns the skill with this id; undefined if there is none. */
  read(id: string): Promise<Skill | undefined>;
}

interface SkillsContext extends TenantPortContext {
  skills: TenantSkills | undefined;
}

/** Returns the skills of the run's tenant. */
export function skillsOf({ skills, ...context }: SkillsContext): Skills {
  if (!skills) return { find: async () => undefined, read: async () => undefined };
  const access = tenantAccess(skills, context, {
    code: 'SKILLS_UNAVAILABLE',
    message: 'The stored skills cannot be read now.',
  });
  return {
    find: (references) => access((skillsPort, tenant) => skillsPort.find(tenant, references)),
    read: (id) => access((skillsPort, tenant) => skillsPort.read(tenant, id)),
  };
}
