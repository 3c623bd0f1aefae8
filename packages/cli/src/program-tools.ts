import { Option } from 'commander';
import type { Command } from 'commander';
import type { ImportToolsOptions } from './commands/tools.ts';
import type { Io } from './io.ts';
import { repeatable, runOptions, withOptions } from './run-options.ts';

/** `heddle tools`: tools of services, from their OpenAPI documents. */
export function declareTools(program: Command, io: Io, done: (exit: number) => void): void {
  const tools = program.command('tools').description('Make tools of OpenAPI documents.');
  const importing = tools
    .command('import')
    .description('Makes a tool of each operation, and prints which are left out.')
    .argument('<file>', 'document (JSON or YAML), URL, or -')
    .addOption(new Option('--name <name>', 'name of the service').makeOptionMandatory())
    .addOption(new Option('-o, --out <file>', 'file to write').default('tools.json'))
    .addOption(
      repeatable('--only <pattern>', 'only these: an id, "GET /path", tag:NAME; * is any text (repeatable)'),
    )
    .addOption(repeatable('--idempotent <pattern>', 'operations safe to repeat'))
    .addOption(new Option('--key-header <name>', 'header for idempotency keys'))
    .addOption(repeatable('--variable <name=value>', 'variable (repeatable)'))
    .option('--json', 'print only JSON', false);
  withOptions(importing, runOptions('egress')).action(async (file: string, options: ImportToolsOptions) => {
    const { importTools } = await import('./commands/tools.ts');
    done(await importTools(io, file, options));
  });
  tools
    .command('list')
    .description('Lists tools.')
    .argument('<file...>', 'files')
    .option('--json', 'print only JSON', false)
    .action(async (files: string[], options: { json: boolean }) => {
      const { listTools } = await import('./commands/tools.ts');
      done(await listTools(io, files, options));
    });
}
