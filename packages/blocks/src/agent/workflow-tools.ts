import { BlockError, isJsonObject } from '@heddle/core/blocks';
import type { Json, JsonObject } from '@heddle/core/blocks';
import { inputSchema, resolveJson } from '@heddle/core/fields';
import type { Context } from '../define.ts';
import { invalidConfigError } from '../invalid-config-error.ts';
import { sanitizeDescription } from '../mcp/names.ts';
import { presetOf } from './preset.ts';
import type { OfferedTool } from './callable-tool.ts';
import { idsOf } from './tool-configs.ts';
import type { ToolConfig } from './tool-configs.ts';

const WORKFLOW_TOOL_IDS: ReadonlySet<string> = new Set(['workflow', 'workflow_input', 'workflow_executor']);
const MAX_NAME_CHARS = 64;

/** Returns whether a tool configuration names a workflow. */
export function isWorkflowToolConfig(config: JsonObject): boolean {
  return idsOf(config).some((id) => WORKFLOW_TOOL_IDS.has(id));
}

/**
 * Returns the tools of workflows, one for each configuration, with names that are not in `usedNames`. Each call is a
 * child run. A later attempt offers the same tools as the first one, even after a deployment.
 *
 * Throws BLOCK_CONFIG_INVALID, CHILD_NOT_FOUND.
 */
export async function workflowTools(
  context: Context,
  configs: readonly ToolConfig[],
  usedNames: ReadonlySet<string>,
): Promise<OfferedTool[]> {
  if (configs.length === 0) return [];
  const references = configs.map(({ config }) => referenceOf(context, config));
  const recordedDescriptions = await context.step('workflows', () => describeWorkflows(context, references), {
    idempotent: true,
  });
  const descriptions = recordedDescriptions as unknown as { [reference: string]: WorkflowDescription };
  const names = new Set(usedNames);
  return configs.map(({ paramTemplates }, index) => {
    const reference = references[index] as string;
    const { name: title, description, schema } = descriptions[reference] as WorkflowDescription;
    const name = uniqueName(title, names);
    names.add(name);
    const preset = presetOf(schema, mappingOf(context, paramTemplates));
    return {
      definition: {
        type: 'function',
        name,
        description: sanitizeDescription(description ?? `Runs the workflow "${title}".`),
        inputSchema: preset.schema as never,
      },
      callsWorkflow: true,
      // An interrupted call continues the child run that it has started.
      isIdempotent: () => true,
      run: (args, { step, otherWorkDone }) =>
        context.services.callWorkflow(reference, {
          input: { ...args, ...preset.values },
          call: step,
          otherWorkDone,
        }),
    };
  });
}

function referenceOf(context: Context, config: JsonObject): string {
  const params = isJsonObject(config['params']) ? config['params'] : {};
  const { workflowId } = params;
  if (typeof workflowId === 'string' && workflowId.trim() !== '') return workflowId.trim();
  throw invalidConfigError(context, 'has a workflow as a tool without a "workflowId"');
}

/** The description of a workflow for the model. */
interface WorkflowDescription {
  name: string;
  description: string | null;
  schema: JsonObject;
}

async function describeWorkflows(context: Context, references: readonly string[]): Promise<JsonObject> {
  const descriptions = new Map<string, Json>();
  for (const reference of new Set(references)) {
    const childWorkflow = await context.services.findChild(reference);
    if (!childWorkflow)
      throw new BlockError(
        'CHILD_NOT_FOUND',
        `The agent "${context.block.name}" uses the workflow "${reference.slice(0, 100)}" as a tool, but there is no such workflow: deploy it, or pass the folder that contains it.`,
        { retryable: false, details: { workflow: reference } },
      );
    const { name, description, inputs } = childWorkflow;
    descriptions.set(reference, { name, description: description ?? null, schema: inputSchema(inputs) });
  }
  return Object.fromEntries(descriptions);
}

/**
 * Returns the inputs that the author has set for the tool. Referenced values cannot change the structure of JSON text.
 */
function mappingOf(context: Context, paramTemplates: ToolConfig['paramTemplates']): JsonObject {
  const mapping = paramTemplates.get('inputMapping');
  const value = mapping ? resolveJson(mapping, context.services.lookup) : null;
  if (isJsonObject(value)) return value;
  if (value === null || value === '') return {};
  throw invalidConfigError(
    context,
    'has a workflow as a tool with an invalid "inputMapping": it must be an object',
  );
}

function uniqueName(title: string, usedNames: ReadonlySet<string>): string {
  const normalizedTitle = title.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_');
  const base = normalizedTitle.replaceAll(/^_|_$/g, '').slice(0, MAX_NAME_CHARS) || 'workflow';
  for (let number = 1; ; number++) {
    const suffix = number === 1 ? '' : `_${number}`;
    const name = `${base.slice(0, MAX_NAME_CHARS - suffix.length)}${suffix}`;
    if (!usedNames.has(name)) return name;
  }
}
