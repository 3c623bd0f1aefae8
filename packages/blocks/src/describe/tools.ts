import type { JsonObject } from '@heddle/core/blocks';
import { nativeIntegrationOf, nativeIntegrationTypes } from '../native-integrations/catalog.ts';
import { argumentsSchema } from '../native-integrations/native-integration.ts';
import type { NativeIntegration } from '../native-integrations/native-integration.ts';
import { integrationOf, integrationTypes } from '../integrations/catalog.ts';
import { toolFileOf } from '../integrations/integration.ts';
import type { Integration } from '../integrations/integration.ts';
import type { ToolFile } from '../openapi/file.ts';
import { ServiceTools } from '../openapi/service-tools.ts';

/** A tool that agents and blocks can use. */
export interface ToolDescription {
  id: string;
  /** The first line says what the tool does. */
  description: string;
  /** The origin of the tool: shipped with Heddle, or a service or code of a tool file. */
  source: 'integration' | 'service' | 'code';
  /** The name for `--service` and `--credential`; absent for code. */
  service?: string;
  /** Block types that have the tool; empty for tools of files, which blocks of the type `tool` call. */
  types: readonly string[];
  /** Absent for services that are called with a client library, and for code. */
  method?: string;
  path?: string;
  language?: 'javascript' | 'python';
  tags: readonly string[];
  /** True if the tool changes nothing. Absent: unknown. */
  readOnly?: boolean;
  /** True if an interrupted call may be repeated. */
  idempotent: boolean;
  /** JSON Schema of the arguments. */
  parameters: JsonObject;
}

/**
 * Returns the tools of these files: first the operations of services, then code. Throws OPTIONS_INVALID if two tools
 * have the same id.
 */
export function describeToolFiles(files: readonly ToolFile[]): ToolDescription[] {
  const codeTools = files.flatMap((file) => file.code ?? []);
  return [
    ...serviceTools(files, { source: 'service', types: [] }),
    ...codeTools.map(
      ({ id, description, language, idempotent = false, arguments: parameters }): ToolDescription => ({
        ...{ id, description, source: 'code', types: [], language, tags: [], idempotent },
        parameters: parameters as JsonObject,
      }),
    ),
  ];
}

/**
 * Returns the tools of all integrations and of these files, sorted by id. Throws OPTIONS_INVALID if two tools of the
 * files have the same id.
 */
export async function describeTools(files: readonly ToolFile[]): Promise<ToolDescription[]> {
  const integrations = await typesByIntegration(integrationTypes, integrationOf);
  const nativeIntegrations = await typesByIntegration(nativeIntegrationTypes, nativeIntegrationOf);
  const integrationTools = [
    ...[...integrations].flatMap(([integration, types]) => shippedTools(integration, types)),
    ...[...nativeIntegrations].flatMap(([nativeIntegration, types]) => nativeTools(nativeIntegration, types)),
  ];
  const fileTools = describeToolFiles(files);
  const ids = new Set(fileTools.map(({ id }) => id));
  // Agents and blocks use the tool of a file in place of a shipped tool with the same id.
  return [...integrationTools.filter(({ id }) => !ids.has(id)), ...fileTools].toSorted((a, b) =>
    a.id < b.id ? -1 : 1,
  );
}

/** Returns the block types of each integration that `load` returns for a type. */
async function typesByIntegration<LoadedIntegration>(
  types: readonly string[],
  load: (type: string) => Promise<LoadedIntegration | undefined>,
): Promise<Map<LoadedIntegration, string[]>> {
  const blockTypesByIntegration = new Map<LoadedIntegration, string[]>();
  for (const type of types) {
    const integration = await load(type);
    if (integration)
      blockTypesByIntegration.set(integration, [...(blockTypesByIntegration.get(integration) ?? []), type]);
  }
  return blockTypesByIntegration;
}

function shippedTools(integration: Integration, types: readonly string[]): ToolDescription[] {
  return serviceTools([toolFileOf(integration)], { source: 'integration', types });
}

function serviceTools(
  files: readonly ToolFile[],
  origin: Pick<ToolDescription, 'source' | 'types'>,
): ToolDescription[] {
  const loadedTools = new ServiceTools(files);
  return files.flatMap(({ tools }) =>
    tools.map(({ id, service, description, method, path, tags = [], readOnly, idempotent }) => ({
      ...{ id, description, ...origin, service, method, path },
      ...{ tags, readOnly, idempotent },
      parameters: loadedTools.get(id)?.schema ?? {},
    })),
  );
}

function nativeTools({ service, tools }: NativeIntegration, types: readonly string[]): ToolDescription[] {
  return Object.entries(tools).map(([id, tool]) => ({
    ...{ id, description: tool.description, source: 'integration' as const, service, types, tags: [] },
    ...{ idempotent: tool.idempotent, parameters: argumentsSchema(tool) },
  }));
}
