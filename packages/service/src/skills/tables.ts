/** A skill. Its primary key is `workspace_id`, `id`; `workspace_id`, `name` is unique. */
export interface SkillRow {
  workspace_id: string;
  id: string;
  name: string;
  description: string;
  content: string;
  created_at: string;
  updated_at: string;
}

/** The columns that lists read. */
export type SkillInfo = Omit<SkillRow, 'content'>;

/** A user who may change a skill. Workspace admins need no row. */
export interface SkillEditorRow {
  workspace_id: string;
  skill_id: string;
  user_id: string;
  created_at: string;
}

/** The tables of skills and their editors. */
export interface SkillTables {
  skills: SkillRow;
  skill_editors: SkillEditorRow;
}
