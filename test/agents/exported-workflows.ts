import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { blocks } from '@heddle/blocks';
import type { AgentTool } from '@heddle/blocks';
import type { Json, JsonObject } from '@heddle/core';
import type { Engine, EngineOptions, TenantCredentials } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startServices } from '../integrations/services.ts';
import { startModelServer } from '../support/model-server.ts';
import type { ModelRequest } from '../support/model-server.ts';

const FIXTURES = fileURLToPath(new URL('../fixtures/exported', import.meta.url));
const folders = [FIXTURES, process.env['HEDDLE_WORKFLOWS']].filter((folder) => folder !== undefined);
const workflowFiles = folders.flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.json') && !['mocks.json', 'input.json'].includes(name))
    .map((name) => join(folder, name)),
);

interface ExportedBlock {
  id: string;
  type: string;
  name: string;
  triggerMode?: boolean;
  subBlocks: { [name: string]: { id: string; type: string; value: unknown } };
}

/** Values for fields that the authors left empty, by block type. */
const FIELD_VALUES: { readonly [type: string]: { readonly [field: string]: string } } = {
  slack: { channel: 'C0123456789' },
  google_sheets_v2: { spreadsheetId: 'sheet-1', sheetName: 'Leads' },
  notion_v2: { title: 'Report' },
};

/** The field of the advanced mode that can replace a field of the basic mode. */
const ADVANCED_FIELDS: { readonly [field: string]: string } = {
  channel: 'manualChannel',
  spreadsheetId: 'manualSpreadsheetId',
  sheetName: 'manualSheetName',
};

/** Returns an exported workflow, with values for the fields that its author left empty. */
function readWorkflow(file: string): { workflow: Json; blocks: ExportedBlock[] } {
  const workflow = JSON.parse(readFileSync(file, 'utf8')) as { state?: { blocks: object }; blocks?: object };
  const exportedBlocks = Object.values((workflow.state ?? workflow).blocks ?? {}) as ExportedBlock[];
  for (const { type, subBlocks, triggerMode } of exportedBlocks) {
    if (triggerMode === true) continue;
    for (const [field, value] of Object.entries(FIELD_VALUES[type] ?? {})) {
      const isFilled = [field, ADVANCED_FIELDS[field] ?? field].some((name) =>
        Boolean(subBlocks[name]?.value),
      );
      if (!isFilled) subBlocks[field] = { id: field, type: 'short-input', value };
    }
  }
  return { workflow: workflow as Json, blocks: exportedBlocks };
}

/** Arguments of the scripted model's calls, by tool. */
const ARGUMENTS_BY_TOOL: { readonly [tool: string]: JsonObject } = {
  reddit_search: { subreddit: 'all', q: 'heddle' },
  x_search_tweets: { query: 'heddle' },
  firecrawl_scrape: { url: 'https://example.com/pricing' },
  airtable_list_records: { baseId: 'app00000000000001', tableId: 'Feedback' },
  linear_create_issue: { teamId: 'team-1', title: 'Invoice 17' },
  slack_message: { channel: 'C0123456789', text: 'There is an invoice.' },
  linkedin_get_profile: {},
  mistral_parser_v3: {},
};

/** A tool that a fixture uses and that no integration offers, so that the host must register it. */
const httpGet: AgentTool = {
  id: 'http_get',
  description: 'Gets a page.',
  parameters: { type: 'object', properties: {} },
  run: async () => ({ done: true }),
};

/** The provider of each stored credential, by the id that exported workflows use. */
const CREDENTIAL_PROVIDERS: { readonly [id: string]: string } = {
  cred_278965807788f2194a89d8926339c9bc: 'reddit',
  cred_bca17ade6b5e43c6929f0716e239aa1d: 'x',
  cred_0fe457b3f0f1dde225e2d8154ee805e7: 'airtable',
  VASXEoZWRpOraVP2Exmm9X62lT3ofDmZ: 'linear',
  '9XZ3B8KDqUKwhQGwNJK7rJdIFX18VkeN': 'google_sheets',
};

const tenantCredentials: TenantCredentials = {
  find(_tenant, query) {
    const id = 'id' in query ? query.id : '';
    const provider = Object.hasOwn(CREDENTIAL_PROVIDERS, id) ? CREDENTIAL_PROVIDERS[id] : undefined;
    return provider === undefined
      ? undefined
      : { id, type: 'oauth', provider, name: provider, secret: `token-of-${provider}` };
  },
};

/** Returns a value that matches a schema of an exported workflow. */
function sampleOf(schema: JsonObject): Json {
  const { type, properties = {}, items, enum: choices } = schema;
  if (Array.isArray(choices)) return choices[0] ?? null;
  if (type === 'object')
    return Object.fromEntries(
      Object.entries(properties as { [name: string]: JsonObject }).map(([name, property]) => [
        name,
        sampleOf(property),
      ]),
    );
  if (type === 'array') return items === undefined ? [] : [sampleOf(items as JsonObject)];
  if (type === 'number' || type === 'integer') return 1;
  return type === 'boolean' ? true : 'text';
}

/** Returns the response schema of a request; undefined if it has none. */
function schemaOf({ body }: ModelRequest): JsonObject | undefined {
  const match = /"(?:schema|responseSchema|responseJsonSchema|input_schema)":(\{.*)/.exec(
    JSON.stringify(body),
  );
  if (!match) return undefined;
  const {
    text,
    output_config: config,
    generationConfig,
  } = body as {
    text?: { format?: { schema?: JsonObject } };
    output_config?: { format?: { schema?: JsonObject } };
    generationConfig?: { responseSchema?: JsonObject; responseJsonSchema?: JsonObject };
  };
  return (
    text?.format?.schema ??
    config?.format?.schema ??
    generationConfig?.responseJsonSchema ??
    generationConfig?.responseSchema
  );
}

/** Returns the names of the known tools in a request. */
function toolNamesIn(text: string): string[] {
  return Object.keys(ARGUMENTS_BY_TOOL).filter((name) => text.includes(`"name":"${name}"`));
}

/** Returns calls of all offered tools in the first round, then text, or JSON that matches the response schema. */
function answerRequest(request: ModelRequest) {
  const text = JSON.stringify(request.body);
  const names = toolNamesIn(text);
  const hasCalled = /function_call_output|tool_result|functionResponse|"role":"tool"/.test(text);
  if (names.length > 0 && !hasCalled)
    return { toolCalls: names.map((name) => ({ name, args: ARGUMENTS_BY_TOOL[name] ?? {} })) };
  const schema = schemaOf(request);
  return { text: schema ? JSON.stringify(sampleOf(schema)) : 'An answer.' };
}

/** Returns the mock of `webhook_request` blocks for a workflow of the fixtures, and no mocks for other workflows. */
const mocksOf = (file: string) =>
  dirname(file) === FIXTURES ? { types: { webhook_request: { data: null, status: 200, headers: {} } } } : {};

/** Input of every workflow. */
const input = {
  ...(JSON.parse(readFileSync(join(FIXTURES, 'input.json'), 'utf8')) as JsonObject),
  resumeFile: [
    {
      type: 'file',
      name: 'resume.pdf',
      data: `data:application/pdf;base64,${Buffer.from('%PDF-1.7\n%%EOF').toString('base64')}`,
    },
  ],
};

/** Opens an engine that runs blocks with these options, in this process or on workers, and closes it after the test. */
export type OpenEngine = (
  options: Required<Pick<EngineOptions, 'blocks' | 'services' | 'credentials' | 'env' | 'tenantCredentials'>>,
) => Promise<Engine>;

/** Runs every exported workflow to completion, with scripted models and simulated services only. */
export function describeExportedWorkflows(environment: string, openEngine: OpenEngine): void {
  describe(`${environment}, with scripted models and simulated services, the exported workflow`, () => {
    it.each(workflowFiles.map((file) => [basename(file), file]))('%s completes', async (_name, file) => {
      const { workflow, blocks: allBlocks } = readWorkflow(file);
      const modelServer = await startModelServer(answerRequest);
      const services = await startServices();
      onTestFinished(async () => {
        await Promise.all([modelServer.close(), services.close()]);
      });
      const tokenEntries = Object.keys(services.baseUrls).map((service) => [service, `token-of-${service}`]);
      const engine = await openEngine({
        blocks: blocks({ defaultModel: 'gpt-4o', tools: [httpGet] }),
        services: { ...modelServer.services, ...services.baseUrls },
        credentials: { ...Object.fromEntries(tokenEntries), openai: 'key', anthropic: 'key', google: 'key' },
        env: { XAI_API_KEY: 'key-of-xai', FIRECRAWL_API_KEY: 'token-of-firecrawl' },
        tenantCredentials,
      });
      const runInput = await engine.storeFiles({ workflow }, input);
      const result = await engine.execute({ workflow }, runInput, { mocks: mocksOf(file) });
      expect(result).toMatchObject({ status: 'completed' });
      const logs = await engine.getLogs(result.runId);
      const triggerIds = new Set(
        allBlocks.flatMap(({ id, triggerMode }) => (triggerMode === true ? [id] : [])),
      );
      const integrationLogs = logs.filter(
        ({ blockId, blockType }) => blockType in FIELD_VALUES && !triggerIds.has(blockId),
      );
      const agents = allBlocks.filter(({ type }) => type === 'agent');
      expect(modelServer.requests.length).toBeGreaterThanOrEqual(agents.length);
      const usedServices = services.requests.map(({ service }) => service);
      expect(usedServices).toEqual(
        expect.arrayContaining(integrationLogs.map(({ blockType }) => blockType.replace('_v2', ''))),
      );
      for (const tool of new Set(
        modelServer.requests.flatMap(({ body }) => toolNamesIn(JSON.stringify(body))),
      ))
        expect(usedServices).toContain(tool === 'x_search_tweets' ? 'x' : (/^[a-z]+/.exec(tool) ?? [''])[0]);
      expect(logs.filter(({ status }) => status !== 'completed')).toEqual([]);
      const requestsText = modelServer.requests.map(({ body }) => JSON.stringify(body)).join('\n');
      expect(requestsText).not.toMatch(/answered [45]\d\d|CREDENTIAL_UNKNOWN|do not match the schema/);
    });
  });
}
