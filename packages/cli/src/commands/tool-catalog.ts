import type { ToolDescription } from '@heddle/blocks';
import { SimilarNames } from '@heddle/core/drafts';
import { readToolFiles } from '../block-options.ts';
import { EXIT } from '../exit-code.ts';
import { writeJson } from '../io.ts';
import type { Io } from '../io.ts';
import { DRAFT_7_URI, schemaRows } from '../render/schema-rows.ts';
import { sanitize, styleFor } from '../render/style.ts';
import { tableLines } from '../render/table.ts';
import { UsageError } from '../usage-error.ts';

const MAX_TITLE_LENGTH = 80;

/** Lists the tools of all integrations, or of files. Throws usage errors. */
export async function listTools(
  io: Io,
  files: readonly string[],
  { json }: { json: boolean },
): Promise<number> {
  const { describeTools, describeToolFiles } = await import('@heddle/blocks');
  const tools =
    files.length === 0 ? await describeTools() : await describeToolFiles(await readToolFiles(files, 'FILE'));
  const style = styleFor(io.stdout);
  if (json) writeJson(io, { data: tools.map(withoutParameters) });
  else {
    const rows = tools.map((tool) => [
      style.bold(tool.id),
      style.dim(sanitize(callSummary(tool))),
      titleOf(tool),
    ]);
    io.stdout.write(`${tableLines(rows).join('\n')}\n`);
  }
  return EXIT.completed;
}

/** Shows a tool, or the JSON Schema of its arguments. Throws a usage error for an unknown tool. */
export async function showTool(
  io: Io,
  [id, ...files]: readonly [string, ...string[]],
  options: { json: boolean; jsonSchema: boolean },
): Promise<number> {
  const { describeTools } = await import('@heddle/blocks');
  const tools = await describeTools(await readToolFiles(files, 'FILE'));
  const tool = tools.find((candidate) => candidate.id === id);
  if (!tool) throw unknownToolError(id, tools);
  if (options.jsonSchema)
    writeJson(io, { $schema: DRAFT_7_URI, title: id, description: tool.description, ...tool.parameters });
  else if (options.json) writeJson(io, { data: { ...tool } });
  else show(io, tool);
  return EXIT.completed;
}

function withoutParameters(tool: ToolDescription) {
  const { parameters: _, ...summary } = tool;
  return summary;
}

function unknownToolError(id: string, tools: readonly ToolDescription[]): UsageError {
  const nearestMatch = new SimilarNames(tools.map((tool) => tool.id)).findNearest(id);
  const hint = nearestMatch
    ? `Did you mean "${nearestMatch.name}"?`
    : 'heddle tools list shows all tools. For a tool that is defined in a file, add the file after the id.';
  return new UsageError(`There is no tool "${id}".`, hint);
}

/** Returns the method and path, the language of the code, or the service. */
function callSummary({ method, path, language, service }: ToolDescription): string {
  return method === undefined ? (language ?? service ?? '') : `${method} ${path}`;
}

function titleOf({ description }: ToolDescription): string {
  return sanitize((description.split('\n', 1)[0] ?? '').slice(0, MAX_TITLE_LENGTH));
}

function show(io: Io, tool: ToolDescription): void {
  const style = styleFor(io.stdout);
  const { id, description, service, types, readOnly, idempotent, parameters } = tool;
  const properties: [string, string | undefined][] = [
    ['service', service],
    ['call', callSummary(tool)],
    ['blocks', types.length > 0 ? types.join(', ') : undefined],
    ['changes', readOnly === undefined ? undefined : readOnly ? 'nothing' : 'data'],
    ['idempotent', idempotent ? 'yes' : 'no'],
  ];
  const rows = properties.flatMap(([name, value]) =>
    value === undefined ? [] : [[`  ${style.dim(name)}`, sanitize(value)]],
  );
  const argumentRows = schemaRows(parameters).map(([name = '', type = '', text = '']) => [
    `  ${style.cyan(sanitize(name))}`,
    style.dim(sanitize(type)),
    sanitize(text),
  ]);
  const lines = [
    style.bold(id),
    ...description.split('\n').map((line) => `  ${sanitize(line)}`),
    ...['', ...tableLines(rows)],
    ...(argumentRows.length > 0 ? ['', style.bold('Arguments'), ...tableLines(argumentRows)] : []),
  ];
  io.stdout.write(`${lines.join('\n')}\n`);
}
