import { isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject, Template } from '@heddle/core/blocks';
import { jsonStructure, resolveJson, templateFields, templateItems } from '@heddle/core/fields';
import type { Context } from '../define.ts';
import { invalidConfigError } from '../invalid-config-error.ts';

/** Maximum number of tools of a block. */
export const MAX_TOOLS = 100;

/** The configuration of a tool: an item of the field `tools` of an agent, or of the field `notification`. */
export interface ToolConfig {
  config: JsonObject;
  /** The `params` of the configuration as the author has written them, by name. */
  paramTemplates: ReadonlyMap<string, Template>;
}

/** Returns the ids by which a tool configuration names its tool, the most specific one first. */
export function idsOf(config: JsonObject): string[] {
  return [config['toolId'], config['operation'], config['type']].filter((id) => typeof id === 'string');
}

/** Returns true for the value of an empty field. */
export function isEmpty(value: Json | undefined): boolean {
  return (
    value === undefined || value === null || value === '' || (Array.isArray(value) && value.length === 0)
  );
}

/** Returns the tool configurations in a field of the block. Throws BLOCK_CONFIG_INVALID. */
export function toolConfigs(context: Context, field: 'tools' | 'notification'): ToolConfig[] {
  const configs = context.field(field, 'json') ?? [];
  if (!Array.isArray(configs))
    throw invalidConfigError(context, `has an invalid "${field}": it must be a list`);
  if (configs.length > MAX_TOOLS) throw invalidConfigError(context, `has more than ${MAX_TOOLS} tools`);
  const templatesByConfig = readParamTemplates(context, field);
  return configs.map((config, index): ToolConfig => {
    if (isJsonObject(config)) return { config, paramTemplates: templatesByConfig[index] ?? new Map() };
    throw invalidConfigError(context, 'has an invalid tool: it must be an object');
  });
}

/** Returns the `params` of each tool configuration as the author has written them, by name. */
function readParamTemplates(context: Context, field: string): ReadonlyMap<string, Template>[] {
  const tools = context.block.params[field];
  const configs = tools && templateItems(jsonStructure(tools, context.services.lookup));
  return (configs ?? []).map((config) => {
    const params = templateFields(config)?.get('params');
    return (params && templateFields(params)) ?? new Map<string, Template>();
  });
}

/**
 * Returns the configuration after parsing each of its `params` that the author has written as JSON text with
 * references. Values of the references cannot change the structure of the JSON.
 */
export function withParsedParams(context: Context, { config, paramTemplates }: ToolConfig): JsonObject {
  const parsedParams: JsonObject = {};
  for (const [name, template] of paramTemplates)
    if (isJsonWithReferences(template)) parsedParams[name] = resolveJson(template, context.services.lookup);
  return isJsonObject(config['params'])
    ? { ...config, params: { ...config['params'], ...parsedParams } }
    : config;
}

function isJsonWithReferences(template: Template): boolean {
  if (template.kind !== 'text' || template.parts.length === 1) return false;
  const [firstPart] = template.parts;
  return typeof firstPart === 'string' && /^\s*[[{]/.test(firstPart);
}
