/** Blocks that call other systems: agents, their models, and integrations. */
// The import checks the version of Node.js before anything else fails. Of the entry points that check it, this one is
// the smallest.
import '@heddle/core/files';
import type { BlockTypeInfo } from '@heddle/core';
import type { BlockExecutor, JsonObject } from '@heddle/core/blocks';
import type { ExecutorServices } from '@heddle/engine';
import type { BlockDefinition } from './define.ts';
import type { BlockDescription } from './describe/describe.ts';
import { nativeIntegrationOf } from './native-integrations/catalog.ts';
import { integrationOf } from './integrations/catalog.ts';
import { integrationTypeInfos } from './integrations/type-infos.ts';
import type { ToolDescription } from './describe/tools.ts';
import type { ToolFile } from './openapi/file.ts';
import type { ImportedTools, ImportOptions } from './openapi/import.ts';
import type { BlocksOptions } from './options.ts';

export { integrationTypeInfos } from './integrations/type-infos.ts';
export { knownModels } from './models/catalog.ts';
export { unsupportedReason } from './describe/unsupported.ts';
export type { ModelInfo, Prices } from './models/catalog.ts';
export { knownProviders } from './models/known-providers.ts';
export type { KnownProvider } from './models/known-providers.ts';
export type { BlockDescription } from './describe/describe.ts';
export type { ToolDescription } from './describe/tools.ts';
export type { ToolFile } from './openapi/file.ts';
export type { ImportedTools, ImportNote, ImportOptions } from './openapi/import.ts';
export type {
  AgentTool,
  AgentToolCall,
  BlocksOptions,
  McpServerOptions,
  ModelRateLimits,
} from './options.ts';

type DefinitionLoader = () => Promise<BlockDefinition>;

/** The loaders of the definitions of the blocks, by type. */
const DEFINITION_LOADERS: { readonly [type: string]: DefinitionLoader } = {
  router_v2: async () => (await import('./router/router-v2.ts')).routerV2,
  router: async () => (await import('./router/router.ts')).router,
  evaluator: async () => (await import('./evaluator/evaluator.ts')).evaluator,
  translate: async () => (await import('./translate/translate.ts')).translate,
  memory: async () => (await import('./memory/memory.ts')).memory,
  logs: async () => (await import('./logs/logs.ts')).logs,
  vision: async () => (await import('./vision/vision.ts')).vision,
  guardrails: async () => (await import('./guardrails/guardrails.ts')).guardrails,
  mcp: async () => (await import('./mcp/mcp.ts')).mcp,
  thinking: async () => (await import('./thinking/thinking.ts')).thinking,
  credential: async () => (await import('./credential/credential.ts')).credential,
  tool: async () => (await import('./tool/tool.ts')).tool,
};

/**
 * Returns the executors of all blocks of this package, for `createEngine({ blocks })`. The dependencies of a block
 * are loaded at its first use.
 */
export function blocks(options: BlocksOptions = {}): BlockExecutor[] {
  const agent: BlockExecutor<ExecutorServices> = {
    types: ['agent'],
    class: 'effect',
    execute: async (context) => (await import('./agent/agent.ts')).runAgent(context, options),
    resume: async (context) => (await import('./agent/approval-answer.ts')).validateAnswer(context),
    notify: async (context) => (await import('./notifications/notify.ts')).notify(context, options),
  };
  const lazyExecutors = Object.entries(DEFINITION_LOADERS).map(([type, load]) =>
    createLazyExecutor(type, load, options),
  );
  const integrationExecutors = integrationTypeInfos().map(createIntegrationExecutor);
  return [agent, ...lazyExecutors, ...integrationExecutors] as BlockExecutor[];
}

/** Returns the executor of an integration, whose definition is loaded when it first runs. */
function createIntegrationExecutor({
  type,
  requiredFieldsByOperation,
  featureByOperation,
}: BlockTypeInfo): BlockExecutor<ExecutorServices> {
  return {
    types: [type],
    class: 'effect',
    ...(requiredFieldsByOperation && { requiredFieldsByOperation }),
    ...(featureByOperation && { featureByOperation }),
    async execute(context) {
      const [integration, nativeIntegration] = await Promise.all([
        integrationOf(type),
        nativeIntegrationOf(type),
      ]);
      if (integration) return (await import('./integrations/run.ts')).runIntegration(context, integration);
      if (nativeIntegration)
        return (await import('./native-integrations/run.ts')).runNativeIntegration(
          context,
          nativeIntegration,
        );
      throw new Error(`There is no integration of the type "${type}".`);
    },
  };
}

/**
 * Creates a tool for each operation of an OpenAPI document (3.0 to 3.2, or Swagger 2.0), given as parsed JSON.
 * References to other documents are not followed. The tool file in the result is plain data, for the option `toolFiles`
 * of `blocks`.
 *
 * Throws OPENAPI_INVALID, OPTIONS_INVALID.
 */
export async function importOpenApi(document: unknown, options: ImportOptions): Promise<ImportedTools> {
  return (await import('./openapi/import.ts')).importOpenApi(document, options);
}

/**
 * Checks a tool file that was parsed from JSON, and returns it. `name`: the name of the file in errors. Throws
 * OPTIONS_INVALID.
 */
export async function readToolFile(value: unknown, name?: string): Promise<ToolFile> {
  return (await import('./openapi/file.ts')).readToolFile(value, name);
}

/** Returns the executor of a block whose definition is loaded when it first runs. */
function createLazyExecutor(
  type: string,
  load: DefinitionLoader,
  options: BlocksOptions,
): BlockExecutor<ExecutorServices> {
  return {
    types: [type],
    class: 'effect',
    async execute(context) {
      const [{ runBlock }, definition] = await Promise.all([import('./define.ts'), load()]);
      return runBlock(definition, context, options);
    },
  };
}

/**
 * Returns the descriptions of the blocks of this package and of the engine, with the schemas of their fields and
 * outputs.
 */
export async function describeBlocks(): Promise<BlockDescription[]> {
  const [
    { describeBlock },
    { describeBuiltIns },
    { describeOtherBlockTypes },
    { agentSchema },
    { describeIntegrations },
    { scheduleSchema },
    { webhookSchema },
    { rssSchema },
    { imapSchema },
    { workspaceEventSchema },
  ] = await Promise.all([
    import('./describe/describe.ts'),
    import('./describe/built-ins.ts'),
    import('./describe/other-block-types.ts'),
    import('./agent/schema.ts'),
    import('./integrations/describe.ts'),
    import('./triggers/schedule/schedule.ts'),
    import('./triggers/webhook/webhook.ts'),
    import('./triggers/rss/rss.ts'),
    import('./triggers/imap/imap.ts'),
    import('./triggers/events/workspace-event.ts'),
  ]);
  const lazyBlockDescriptions = Object.entries(DEFINITION_LOADERS).map(async ([type, load]) =>
    describeBlock(type, await load()),
  );
  return [
    ...describeBuiltIns(),
    describeBlock('schedule', scheduleSchema),
    describeBlock('generic_webhook', webhookSchema),
    describeBlock('rss', rssSchema),
    describeBlock('imap', imapSchema),
    describeBlock('sim_workspace_event', workspaceEventSchema),
    ...describeOtherBlockTypes(),
    describeBlock('agent', agentSchema),
    ...(await Promise.all(lazyBlockDescriptions)),
    ...(await describeIntegrations()),
  ];
}

/**
 * Returns the tools of all integrations and of these files, which agents and blocks can use, sorted by id. Throws
 * OPTIONS_INVALID.
 */
export async function describeTools(files: readonly ToolFile[] = []): Promise<ToolDescription[]> {
  return (await import('./describe/tools.ts')).describeTools(files);
}

/** Returns the tools of these files: first the operations of services, then code tools. Throws OPTIONS_INVALID. */
export async function describeToolFiles(files: readonly ToolFile[]): Promise<ToolDescription[]> {
  return (await import('./describe/tools.ts')).describeToolFiles(files);
}

/**
 * Returns a JSON Schema (draft 7) of workflow files with these blocks. `workflow.schema.json` is the schema for
 * `describeBlocks()`.
 */
export async function workflowSchemaOf(blockDescriptions: readonly BlockDescription[]): Promise<JsonObject> {
  const { workflowSchema } = await import('./describe/workflow-schema.ts');
  return workflowSchema(blockDescriptions);
}
