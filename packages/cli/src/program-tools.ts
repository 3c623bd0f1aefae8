import { Option } from 'commander';
import type { Command } from 'commander';
import type { ImportToolsOptions } from './commands/tools.ts';
import type { Io, SetExitCode } from './io.ts';
import { repeatableOption, runOptions, withOptions } from './run-options.ts';

/** `heddle tools`: tools of services, from their OpenAPI documents. */
export function declareTools(program: Command, io: Io, setExitCode: SetExitCode): void {
  const tools = program
    .command('tools')
    .summary('List tools, and create tools from OpenAPI documents.')
    .description('Lists tools, and creates tools from OpenAPI documents.');
  const command = tools
    .command('import')
    .description('Creates a tool from each operation, and prints the operations that it skips.')
    .argument('<file>', 'OpenAPI document (JSON or YAML): a file, a URL, or - for standard input')
    .addOption(new Option('--name <name>', 'name of the service').makeOptionMandatory())
    .addOption(new Option('-o, --out <file>', 'file to write').default('tools.json'))
    .addOption(
      repeatableOption(
        '--only <pattern>',
        'only these: id, "GET /path", tag:NAME; * is a wildcard (repeatable)',
      ),
    )
    .addOption(repeatableOption('--idempotent <pattern>', 'operations that are safe to repeat (repeatable)'))
    .addOption(new Option('--key-header <name>', 'header for idempotency keys'))
    .addOption(
      repeatableOption('--variable <name=value>', 'value of a variable in the server URL (repeatable)'),
    )
    .option('--json', 'print only JSON', false);
  withOptions(command, runOptions('egress')).action(async (file: string, options: ImportToolsOptions) => {
    const { importTools } = await import('./commands/tools.ts');
    setExitCode(await importTools(io, file, options));
  });
  tools
    .command('list')
    .description('Lists the tools of integrations, or those of files.')
    .argument('[file...]', 'tool files')
    .option('--json', 'print only JSON', false)
    .action(async (files: string[], options: { json: boolean }) => {
      const { listTools } = await import('./commands/tool-catalog.ts');
      setExitCode(await listTools(io, files, options));
    });
  tools
    .command('show')
    .description('Shows a tool with its arguments.')
    .argument('<id>', 'id of the tool')
    .argument('[file...]', 'tool files')
    .addOption(
      new Option('--json-schema', 'print only the JSON Schema of the arguments')
        .default(false)
        .conflicts('json'),
    )
    .option('--json', 'print only JSON', false)
    .action(async (id: string, files: string[], options: { json: boolean; jsonSchema: boolean }) => {
      const { showTool } = await import('./commands/tool-catalog.ts');
      setExitCode(await showTool(io, [id, ...files], options));
    });
}
