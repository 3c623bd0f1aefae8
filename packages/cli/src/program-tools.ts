import { Option } from 'commander';
import type { Command } from 'commander';
import type { ImportToolsOptions } from './commands/tools.ts';
import type { Io } from './io.ts';
import { repeatable, runOptions, withOptions } from './run-options.ts';

/** `heddle tools`: tools of services, from their OpenAPI documents. */
export function declareTools(program: Command, io: Io, done: (exit: number) => void): void {
  const tools = program
    .command('tools')
    .summary('Make tools of OpenAPI documents.')
    .description('Makes tools for agents and tool blocks from the OpenAPI documents of services.');
  const importing = tools
    .command('import')
    .description(
      'Makes a tool of each operation of an OpenAPI document (3.0 to 3.2, or Swagger 2.0; JSON or YAML). Prints what is left ' +
        'out, and why.',
    )
    .argument('<file>', 'OpenAPI document: a file, a URL, or - for standard input')
    .addOption(
      new Option(
        '--name <name>',
        'name of the service, which begins the ids of its tools',
      ).makeOptionMandatory(),
    )
    .addOption(new Option('-o, --out <file>', 'file to write').default('tools.json'))
    .addOption(
      repeatable(
        '--only <pattern>',
        'import only these operations: an id, an operationId, "GET /path" or tag:NAME, with * for any text (repeatable)',
      ),
    )
    .addOption(
      repeatable(
        '--idempotent <pattern>',
        'operations that may be repeated although they are POST or PATCH (repeatable)',
      ),
    )
    .addOption(
      new Option(
        '--key-header <name>',
        'header of POST and PATCH for a key that makes repeating safe, such as Idempotency-Key',
      ),
    )
    .addOption(repeatable('--variable <name=value>', 'variable in the addresses of servers (repeatable)'))
    .addOption(new Option('--json', 'print only JSON: {"data": {"tools", "leftOut", …}}').default(false));
  withOptions(importing, runOptions('egress')).action(async (file: string, options: ImportToolsOptions) => {
    const { importTools } = await import('./commands/tools.ts');
    done(await importTools(io, file, options));
  });
  tools
    .command('list')
    .description('Lists the tools of files.')
    .argument('<file...>', 'files of tools')
    .option('--json', 'print only JSON: {"data": [tool]}', false)
    .action(async (files: string[], options: { json: boolean }) => {
      const { listTools } = await import('./commands/tools.ts');
      done(await listTools(io, files, options));
    });
}
