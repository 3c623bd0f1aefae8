import type { LanguageModelV4Prompt } from '@ai-sdk/provider';
import { BlockError, isJsonObject, getOwn } from '@heddle/core/blocks';
import type { Json } from '@heddle/core/blocks';
import type { Context } from '../define.ts';
import { invalidConfigError } from '../invalid-config-error.ts';
import type { OfferedTool } from './callable-tool.ts';
import { isEmpty } from './tool-configs.ts';

/** A skill without its instructions. */
type SkillSummary = NonNullable<Awaited<ReturnType<Context['services']['skills']['find']>>>[number];

/** Maximum number of skills of an agent: all their descriptions are in its prompt. */
const MAX_SKILLS = 50;
const TOOL_NAME = 'load_skill';

/** The tool and the prompt of an agent's skills. */
export interface AgentSkills {
  /** Reads the instructions of one of these skills. Absent: the agent has no skills. */
  tool?: OfferedTool;
  /** Returns the prompt with the names and descriptions of the skills at the end of its system message. */
  addTo(prompt: LanguageModelV4Prompt): LanguageModelV4Prompt;
}

/**
 * Returns the skills that the agent lists in `skills`, by id or name. The skills belong to the workflow's tenant. Their
 * names and descriptions are read in a step, so that another attempt of the block has the same skills.
 *
 * Throws BLOCK_CONFIG_INVALID, SKILL_UNKNOWN, SKILLS_UNAVAILABLE.
 */
export async function skillsOf(context: Context): Promise<AgentSkills> {
  const references = referencesIn(context);
  if (references.length === 0) return { addTo: (prompt) => prompt };
  const findSkills = async (): Promise<Json[]> =>
    (await findAll(context, references)).map(({ id, name, description }) => ({ id, name, description }));
  const summaries = (await context.step('skills', findSkills, {
    idempotent: true,
  })) as unknown as SkillSummary[];
  const skills = new Map(summaries.map((skill) => [skill.name, skill]));
  if (skills.size < summaries.length) throw invalidConfigError(context, 'has two skills with the same name');
  return {
    tool: skillTool(context, skills),
    addTo: (prompt) => withInstructions(prompt, summaries),
  };
}

/** Returns the ids or names of the skills that the agent lists. Throws BLOCK_CONFIG_INVALID. */
function referencesIn(context: Context): string[] {
  const items = context.field('skills', 'json') ?? [];
  if (isEmpty(items)) return [];
  if (!Array.isArray(items)) throw invalidConfigError(context, 'has an invalid "skills": it must be a list');
  if (items.length > MAX_SKILLS) throw invalidConfigError(context, `has more than ${MAX_SKILLS} skills`);
  return items.map((item) => {
    const reference = isJsonObject(item) ? (getOwn(item, 'skillId') ?? getOwn(item, 'name')) : item;
    if (typeof reference === 'string' && reference.trim() !== '') return reference.trim();
    throw invalidConfigError(context, 'has a skill without "skillId", the id or name of a stored skill');
  });
}

/** Returns each skill once, in the order of the references. Throws SKILL_UNKNOWN. */
async function findAll(context: Context, references: readonly string[]): Promise<SkillSummary[]> {
  const foundSkills = await context.services.skills.find([...new Set(references)]);
  if (!foundSkills)
    throw unknownSkillError(
      context,
      'uses skills, but this engine has none. Choose a workspace that has them.',
    );
  const skills = references.map((reference) => {
    const skill =
      foundSkills.find(({ id }) => id === reference) ?? foundSkills.find(({ name }) => name === reference);
    if (skill) return skill;
    const quotedReference = JSON.stringify(reference.slice(0, 100));
    throw unknownSkillError(
      context,
      `uses the skill ${quotedReference}, which does not exist in its workspace: it was deleted or never existed. Remove it from the agent, or store it.`,
    );
  });
  return [...new Map(skills.map((skill) => [skill.id, skill])).values()];
}

function unknownSkillError({ block }: Context, problem: string): BlockError {
  return new BlockError('SKILL_UNKNOWN', `The agent "${block.name}" ${problem}`, { retryable: false });
}

/** Returns a tool that reads only the agent's skills: injected text cannot make the model read another one. */
function skillTool(context: Context, skills: ReadonlyMap<string, SkillSummary>): OfferedTool {
  return {
    definition: {
      type: 'function',
      name: TOOL_NAME,
      description: 'Returns the instructions of a skill.',
      inputSchema: {
        type: 'object',
        properties: { name: { type: 'string', enum: [...skills.keys()] } },
        required: ['name'],
        additionalProperties: false,
      },
    },
    isIdempotent: () => true,
    // Instructions have at most 50,000 characters, and truncated instructions would be worse than none.
    keepsFullResults: true,
    async run(args) {
      const name = getOwn(args, 'name');
      const skill = typeof name === 'string' ? skills.get(name) : undefined;
      const storedSkill = skill && (await context.services.skills.read(skill.id));
      if (storedSkill) return storedSkill.content;
      throw new Error('This skill no longer exists: it was deleted after the agent had started.');
    },
  };
}

function withInstructions(
  prompt: LanguageModelV4Prompt,
  skills: readonly SkillSummary[],
): LanguageModelV4Prompt {
  const text = [
    `You have skills: instructions for certain tasks. Before you do a task that a skill is for, read its instructions with ${TOOL_NAME}. Your skills are:`,
    ...skills.map(({ name, description }) => `- ${toOneLine(name)}: ${toOneLine(description)}`),
  ].join('\n');
  const [firstMessage, ...otherMessages] = prompt;
  if (firstMessage?.role !== 'system') return [{ role: 'system', content: text }, ...prompt];
  return [{ ...firstMessage, content: `${firstMessage.content}\n\n${text}` }, ...otherMessages];
}

/** Returns the text on one line: a description with line breaks could look like another skill. */
function toOneLine(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim();
}
