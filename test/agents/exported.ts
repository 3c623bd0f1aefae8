import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { blocks } from '@heddle/blocks';
import type { AgentTool } from '@heddle/blocks';
import type { Json, JsonObject } from '@heddle/core';
import type { Engine, EngineOptions } from '@heddle/engine';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startModelServer } from '../support/model-server.ts';
import type { ModelRequest } from '../support/model-server.ts';

const FIXTURES = fileURLToPath(new URL('../fixtures/exported', import.meta.url));
const folders = [FIXTURES, process.env['HEDDLE_WORKFLOWS']].filter((folder) => folder !== undefined);
const files = folders.flatMap((folder) =>
  readdirSync(folder)
    .filter((name) => name.endsWith('.json') && !['mocks.json', 'input.json'].includes(name))
    .map((name) => join(folder, name)),
);

interface ExportedBlock {
  type: string;
  subBlocks?: { [name: string]: { value?: unknown } };
}

function readWorkflow(file: string): { workflow: Json; blocks: ExportedBlock[] } {
  const workflow = JSON.parse(readFileSync(file, 'utf8')) as { state?: { blocks: object }; blocks?: object };
  const found = (workflow.state ?? workflow).blocks ?? {};
  return { workflow: workflow as Json, blocks: Object.values(found) as ExportedBlock[] };
}

/** A stand-in for each integration that an agent of the workflow uses as a tool. */
function toolsOf(all: readonly ExportedBlock[]): AgentTool[] {
  const rows = all.flatMap((block) => (block.subBlocks?.['tools']?.value ?? []) as { type: string }[]);
  const ids = new Set(rows.map(({ type }) => type).filter((type) => type !== 'custom-tool'));
  return [...ids].map((id) => ({
    id,
    description: `Stands for ${id}.`,
    parameters: { type: 'object', properties: {} },
    run: async () => ({ done: true }),
  }));
}

/** Returns a value that matches a schema of the exported kind. */
function sampleOf(schema: JsonObject): Json {
  const { type, properties = {}, items, enum: choices } = schema;
  if (Array.isArray(choices)) return choices[0] ?? null;
  if (type === 'object')
    return Object.fromEntries(
      Object.entries(properties as { [name: string]: JsonObject }).map(([name, of]) => [name, sampleOf(of)]),
    );
  if (type === 'array') return items === undefined ? [] : [sampleOf(items as JsonObject)];
  if (type === 'number' || type === 'integer') return 1;
  return type === 'boolean' ? true : 'text';
}

/** The schema of the answer that a request demands; undefined: it demands none. */
function demandedSchema({ body }: ModelRequest): JsonObject | undefined {
  const found = /"(?:schema|responseSchema|responseJsonSchema|input_schema)":(\{.*)/.exec(
    JSON.stringify(body),
  );
  if (!found) return undefined;
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

/** Calls each tool once, then answers. */
function answer(request: ModelRequest) {
  const text = JSON.stringify(request.body);
  const names = [...text.matchAll(/"name":"([\w-]+)","description":"Stands for/g)].map(
    ([, name]) => name ?? '',
  );
  if (names.length > 0 && !text.includes('done')) return { tools: names.map((name) => ({ name, args: {} })) };
  const schema = demandedSchema(request);
  return { text: schema ? JSON.stringify(sampleOf(schema)) : 'An answer.' };
}

const mocks = JSON.parse(readFileSync(join(FIXTURES, 'mocks.json'), 'utf8')) as { types: JsonObject };
/** Types that run here without a service of a third party. */
const OURS = ['agent', 'router_v2', 'evaluator', 'translate', 'guardrails'];
const integrations = Object.fromEntries(Object.entries(mocks.types).filter(([type]) => !OURS.includes(type)));
const input = JSON.parse(readFileSync(join(FIXTURES, 'input.json'), 'utf8')) as Json;

/** Opens an engine that runs blocks with these options, here or on workers, and closes it after the test. */
export type OpenEngine = (
  options: Required<Pick<EngineOptions, 'blocks' | 'services' | 'credentials' | 'env'>>,
) => Promise<Engine>;

/** The agents of all exported workflows reach their models and end, with scripted models and everything else mocked. */
export function describeExportedAgents(name: string, open: OpenEngine): void {
  describe(`the agents of exported workflows, with scripted models, ${name}`, () => {
    it.each(files.map((file) => [basename(file), file]))('%s', async (_name, file) => {
      const { workflow, blocks: all } = readWorkflow(file);
      const server = await startModelServer(answer);
      onTestFinished(() => server.close());
      const engine = await open({
        blocks: blocks({ defaultModel: 'gpt-4o', tools: toolsOf(all) }),
        services: { ...server.services },
        credentials: { openai: 'key', anthropic: 'key', google: 'key' },
        env: { XAI_API_KEY: 'key-of-xai', FIRECRAWL_API_KEY: 'key-of-firecrawl' },
      });
      const result = await engine.execute({ workflow }, input, { mocks: { types: integrations } });
      expect(result).toMatchObject({ status: 'completed' });
      const agents = all.filter(({ type }) => type === 'agent');
      expect(server.requests.length).toBeGreaterThanOrEqual(agents.length);
      const logs = await engine.getLogs(result.runId);
      const ran = logs.filter(({ blockType }) => OURS.includes(blockType));
      expect(ran.length).toBeGreaterThan(0);
      expect(ran.map(({ status }) => status)).toEqual(ran.map(() => 'completed'));
    });
  });
}
