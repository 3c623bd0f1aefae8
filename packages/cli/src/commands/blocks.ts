import type { BlockDescription } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core/blocks';
import { SimilarNames } from '@heddle/core/drafts';
import { EXIT } from '../exit-code.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { DRAFT_7_URI, schemaRows } from '../render/schema-rows.ts';
import { styleFor } from '../render/style.ts';
import { tableLines } from '../render/table.ts';
import { UsageError } from '../usage-error.ts';

const LIST_HINT = 'heddle blocks list shows all types.';

/** Lists the block types. */
export async function listBlocks(io: Io, { json }: { json: boolean }): Promise<number> {
  const descriptions = await blockDescriptions();
  const style = styleFor(io.stdout);
  if (json) writeJson(io, { data: descriptions.map(({ type, summary }) => ({ type, summary })) });
  else {
    const rows = descriptions.map(({ type, summary }) => [style.bold(type), summary]);
    io.stdout.write(`${tableLines(rows).join('\n')}\n`);
  }
  return EXIT.completed;
}

/** Shows the fields and outputs of a block type, or their JSON Schemas. Throws a usage error for an unknown type. */
export async function showBlock(
  io: Io,
  type: string,
  options: { json: boolean; jsonSchema: boolean },
): Promise<number> {
  const descriptions = await blockDescriptions();
  const block = descriptions.find((description) => description.type === type);
  if (!block) throw await unknownTypeError(type, descriptions);
  if (options.jsonSchema) {
    const { summary, fields } = block;
    writeJson(io, { $schema: DRAFT_7_URI, title: type, description: summary, ...fields });
  } else if (options.json) writeJson(io, { data: { ...block } });
  else show(io, block);
  return EXIT.completed;
}

async function blockDescriptions(): Promise<BlockDescription[]> {
  const { describeBlocks } = await import('@heddle/blocks');
  return (await describeBlocks()).toSorted((one, other) => (one.type < other.type ? -1 : 1));
}

async function unknownTypeError(
  type: string,
  descriptions: readonly BlockDescription[],
): Promise<UsageError> {
  const { unsupportedReason } = await import('@heddle/blocks');
  const reason = unsupportedReason(type);
  if (reason !== undefined)
    return new UsageError(`Heddle does not run blocks of the type "${type}": ${reason}.`, LIST_HINT);
  const nearestMatch = new SimilarNames(descriptions.map((description) => description.type)).findNearest(
    type.toLowerCase(),
  );
  const hint = nearestMatch ? `Did you mean "${nearestMatch.name}"?` : LIST_HINT;
  return new UsageError(`There is no block of the type "${type}".`, hint);
}

function show(io: Io, { type, summary, fields, outputs }: BlockDescription): void {
  const style = styleFor(io.stdout);
  const sectionLines = (title: string, schema: JsonObject): string[] => {
    const rows = schemaRows(schema).map(([name = '', kind = '', text = '']) => [
      `  ${style.cyan(name)}`,
      style.dim(kind),
      text,
    ]);
    return rows.length === 0 ? [] : ['', style.bold(title), ...tableLines(rows)];
  };
  const lines = [
    `${style.bold(type)}  ${summary}`,
    ...sectionLines('Fields', fields),
    ...sectionLines('Output', { ...outputs, required: [] }),
  ];
  io.stdout.write(`${lines.join('\n')}\n`);
}
