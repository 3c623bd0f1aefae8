import type { BlockDescription } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import { SimilarNames } from '@heddle/core/drafts';
import { EXIT } from '../exit-code.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { DRAFT_7, schemaRows } from '../render/schema-rows.ts';
import { styleFor } from '../render/style.ts';
import { table } from '../render/table.ts';
import { UsageError } from '../usage-error.ts';

const OTHERS = 'heddle blocks list shows all types.';

/** Lists the types of blocks that `heddle run` has. */
export async function listBlocks(io: Io, { json }: { json: boolean }): Promise<number> {
  const all = await described();
  const style = styleFor(io.stdout);
  if (json) writeJson(io, { data: all.map(({ type, summary }) => ({ type, summary })) });
  else io.stdout.write(`${table(all.map(({ type, summary }) => [style.bold(type), summary])).join('\n')}\n`);
  return EXIT.completed;
}

/** Shows the fields and outputs of a type, or their JSON Schemas. Throws a usage error for an unknown type. */
export async function showBlock(
  io: Io,
  type: string,
  options: { json: boolean; jsonSchema: boolean },
): Promise<number> {
  const all = await described();
  const found = all.find((each) => each.type === type);
  if (!found) throw await unknownType(type, all);
  if (options.jsonSchema) {
    const { summary, fields } = found;
    writeJson(io, { $schema: DRAFT_7, title: type, description: summary, ...fields });
  } else if (options.json) writeJson(io, { data: { ...found } });
  else show(io, found);
  return EXIT.completed;
}

async function described(): Promise<BlockDescription[]> {
  const { describeBlocks } = await import('@heddle/blocks');
  return (await describeBlocks()).toSorted((one, other) => (one.type < other.type ? -1 : 1));
}

async function unknownType(type: string, all: readonly BlockDescription[]): Promise<UsageError> {
  const { whyUnsupported } = await import('@heddle/blocks');
  const why = whyUnsupported(type);
  if (why !== undefined)
    return new UsageError(`Heddle does not run blocks of the type "${type}": ${why}.`, OTHERS);
  const near = new SimilarNames(all.map((each) => each.type)).nearest(type.toLowerCase());
  const hint = near ? `Did you mean "${near.name}"?` : OTHERS;
  return new UsageError(`There is no block of the type "${type}".`, hint);
}

function show(io: Io, { type, summary, fields, outputs }: BlockDescription): void {
  const style = styleFor(io.stdout);
  const part = (title: string, schema: JsonObject): string[] => {
    const rows = schemaRows(schema).map(([name = '', kind = '', text = '']) => [
      `  ${style.cyan(name)}`,
      style.dim(kind),
      text,
    ]);
    return rows.length === 0 ? [] : ['', style.bold(title), ...table(rows)];
  };
  const lines = [
    `${style.bold(type)}  ${summary}`,
    ...part('Fields', fields),
    ...part('Output', { ...outputs, required: [] }),
  ];
  io.stdout.write(`${lines.join('\n')}\n`);
}
