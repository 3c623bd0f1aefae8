import { Option } from 'commander';
import type { Command } from 'commander';
import type { AddOptions } from './commands/skills.ts';
import type { Io, SetExitCode } from './io.ts';
import { withWorkspaceOptions } from './program-secrets.ts';

/** `heddle skills`: instructions that agents of a workspace read if a task needs them. */
export function declareSkills(program: Command, io: Io, setExitCode: SetExitCode): void {
  const skills = program
    .command('skills')
    .summary('Manage the skills of workspaces.')
    .description(
      'Manages skills, even while heddle serve runs. A skill contains instructions that agents of a workspace read ' +
        'if a task needs them.',
    );
  const addCommand = skills
    .command('add')
    .description(
      'Stores the text from standard input as a skill, or replaces the skill of this name. Prints the id.',
    )
    .argument('<name>', 'name of the skill: lowercase letters, digits and hyphens')
    .addOption(
      new Option(
        '--description <text>',
        'what the skill is for; a new skill needs it: models use it to decide when to read the skill',
      ),
    );
  withWorkspaceOptions(addCommand).action(async (name: string, options: AddOptions) => {
    const { addSkill } = await import('./commands/skills.ts');
    setExitCode(await addSkill(io, name, options));
  });
  withWorkspaceOptions(skills.command('list').description('Lists skills.')).action(async (options) => {
    const { listSkills } = await import('./commands/skills.ts');
    setExitCode(await listSkills(io, options));
  });
  const showCommand = skills
    .command('show')
    .description('Prints the text of a skill.')
    .argument('<name>', 'name of the skill');
  withWorkspaceOptions(showCommand).action(async (name: string, options) => {
    const { showSkill } = await import('./commands/skills.ts');
    setExitCode(await showSkill(io, name, options));
  });
  const removeCommand = skills
    .command('remove')
    .description('Removes a skill.')
    .argument('<name>', 'name of the skill');
  withWorkspaceOptions(removeCommand).action(async (name: string, options) => {
    const { removeSkill } = await import('./commands/skills.ts');
    setExitCode(await removeSkill(io, name, options));
  });
}
