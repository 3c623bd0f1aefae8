import { isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject, Template } from '@heddle/core/blocks';
import { jsonStructure, resolveJson, templateFields, templateItems } from '@heddle/core/fields';
import type { Context } from '../define.ts';
import { invalid } from '../invalid.ts';

/** Maximum number of tools of a block. */
export const MAX_TOOLS = 100;

/** A row of the field `tools` of an agent, or of the field `notification`. */
export interface ToolRow {
  row: JsonObject;
  /** The `params` of the row as the author has written them, by name. */
  authored: ReadonlyMap<string, Template>;
}

/** Returns the ids by which a row of an agent's tools names its tool, the most specific one first. */
export function idsOf(row: JsonObject): string[] {
  return [row['toolId'], row['operation'], row['type']].filter((id) => typeof id === 'string');
}

/** Returns true for the value of an empty field. */
export function isEmpty(value: Json | undefined): boolean {
  return (
    value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
  );
}

/** Returns the rows of tools in a field of the block. Throws BLOCK_CONFIG_INVALID. */
export function toolRows(context: Context, field: 'tools' | 'notification'): ToolRow[] {
  const rows = context.field(field, 'json') ?? [];
  if (!Array.isArray(rows)) throw invalid(context, `has an invalid "${field}": it must be a list`);
  if (rows.length > MAX_TOOLS) throw invalid(context, `has more than ${MAX_TOOLS} tools`);
  const authored = authoredParams(context, field);
  return rows.map((row, index): ToolRow => {
    if (isJsonObject(row)) return { row, authored: authored[index] ?? new Map() };
    throw invalid(context, 'has an invalid tool: it must be an object');
  });
}

/** Returns the `params` of each row of the tools as the author has written them, by name. */
function authoredParams(context: Context, field: string): ReadonlyMap<string, Template>[] {
  const tools = context.block.params[field];
  const rows = tools && templateItems(jsonStructure(tools, context.services.lookup));
  return (rows ?? []).map((row) => {
    const params = templateFields(row)?.get('params');
    return (params && templateFields(params)) ?? new Map<string, Template>();
  });
}

/**
 * Returns the row after parsing each of its `params` that the author has written as JSON text with references. Values
 * of the references cannot change the structure of the JSON.
 */
export function withParsedParams(context: Context, { row, authored }: ToolRow): JsonObject {
  const parsedParams: JsonObject = {};
  for (const [name, template] of authored)
    if (isJsonWithReferences(template)) parsedParams[name] = resolveJson(template, context.services.lookup);
  return isJsonObject(row['params']) ? { ...row, params: { ...row['params'], ...parsedParams } } : row;
}

function isJsonWithReferences(template: Template): boolean {
  if (template.kind !== 'text' || template.parts.length === 1) return false;
  const [first] = template.parts;
  return typeof first === 'string' && /^\s*[[{]/.test(first);
}
