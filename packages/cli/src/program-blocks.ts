import { Option } from 'commander';
import type { Command } from 'commander';
import type { Io } from './io.ts';

/** `heddle blocks`: the block types. */
export function declareBlocks(program: Command, io: Io, done: (exit: number) => void): void {
  const blocks = program
    .command('blocks')
    .summary('List block types and show their fields.')
    .description('Describes the block types that this version runs.');
  blocks
    .command('list')
    .description('Lists the block types.')
    .option('--json', 'print only JSON: {"data": [type]}', false)
    .action(async (options: { json: boolean }) => {
      const { listBlocks } = await import('./commands/blocks.ts');
      done(await listBlocks(io, options));
    });
  blocks
    .command('show')
    .description('Shows the fields and the output of a block type.')
    .argument('<type>', 'block type, such as agent')
    .addOption(
      new Option('--json-schema', 'print only the JSON Schema of the fields')
        .default(false)
        .conflicts('json'),
    )
    .option('--json', 'print only JSON: {"data": type}, with the JSON Schemas of fields and output', false)
    .action(async (type: string, options: { json: boolean; jsonSchema: boolean }) => {
      const { showBlock } = await import('./commands/blocks.ts');
      done(await showBlock(io, type, options));
    });
}
