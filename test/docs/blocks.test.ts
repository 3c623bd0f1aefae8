import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { blocks, describeBlocks, unsupportedReason } from '@heddle/blocks';
import { describe, expect, it } from 'vitest';
import { supportedEntityTypes } from '../../packages/blocks/src/guardrails/personal-data.ts';
import { nativeIntegrationTypes } from '../../packages/blocks/src/native-integrations/catalog.ts';
import { integrationTypes } from '../../packages/blocks/src/integrations/catalog.ts';
import { isContainerType } from '../../packages/core/src/schema/read-block.ts';
import { isTriggerType, runnableTypes, typeNames, typeTable } from '../../packages/core/src/plan/types.ts';
import { builtInExecutors } from '../../packages/engine/src/executors/built-ins.ts';
import { readPage, repository, tablesOf } from './markdown.ts';

const PAGE = 'docs/blocks.md';
const rows = (tablesOf(PAGE, readPage(PAGE)).find(({ name }) => name === 'block types')?.rows ?? []).map(
  ({ location, cells: [types = '', runs = '', reason = ''] }) => ({
    location,
    types: [...types.matchAll(/`([^`]+)`/g)].map(([, type = '']) => type),
    runs,
    reason,
  }),
);
const typesWith = (runs: string): string[] => rows.flatMap((row) => (row.runs === runs ? row.types : []));

/** Returns true for types that need no executor. */
const needsNoExecutor = (type: string): boolean =>
  isTriggerType(type) || isContainerType(type) || type === 'note';

/** The types with executors in `heddle run`. */
const executableTypes = [...builtInExecutors, ...blocks()].flatMap(({ types }) => types);

const FOLDERS = [
  join(repository, 'test/fixtures/exported'),
  join(repository, 'examples'),
  ...(process.env['HEDDLE_WORKFLOWS'] === undefined ? [] : [process.env['HEDDLE_WORKFLOWS']]),
];

/** Returns the types of the blocks in exported workflows. */
function exportedTypes(): string[] {
  const files = FOLDERS.flatMap((folder) =>
    globSync('*.json', { cwd: folder }).map((file) => join(folder, file)),
  );
  const types = files.flatMap((file) => {
    const { state, blocks: topLevelBlocks } = JSON.parse(readFileSync(file, 'utf8')) as {
      state?: { blocks?: object };
      blocks?: object;
    };
    const exportedBlocks = Object.values(state?.blocks ?? topLevelBlocks ?? {}) as { type?: string }[];
    return exportedBlocks.flatMap(({ type }) => (type === undefined ? [] : [type]));
  });
  return [...new Set(types)];
}

const integrations = [...integrationTypes, ...nativeIntegrationTypes];

/** The block types of the format, except integrations. They include the older versions of types. */
const FORMAT_TYPES = [
  ...['start_trigger', 'starter', 'api_trigger', 'input_trigger', 'manual_trigger', 'chat_trigger'],
  ...['generic_webhook', 'schedule', 'rss', 'imap', 'circleback', 'sim_workspace_event'],
  ...['agent', 'api', 'function', 'condition', 'router', 'router_v2', 'evaluator', 'variables', 'response'],
  ...['workflow', 'workflow_input', 'wait', 'human_in_the_loop', 'loop', 'parallel', 'webhook_request'],
  ...['note', 'memory', 'mcp', 'guardrails', 'knowledge', 'table'],
  ...['file', 'file_v2', 'file_v3', 'file_v4', 'file_v5'],
  ...['deployments', 'credential', 'credential_group', 'logs', 'search', 'translate', 'tts', 'stt', 'vision'],
  ...['image_generator', 'video_generator', 'thinking', 'a2a', 'enrichment', 'mothership', 'pi'],
  'custom_block_*',
];

describe('the table of all block types', () => {
  it('says yes exactly for the types that heddle run executes', () => {
    expect(
      typesWith('yes')
        .filter((type) => !needsNoExecutor(type))
        .sort(),
    ).toEqual(executableTypes.sort());
    expect(typesWith('no').filter(needsNoExecutor)).toEqual([]);
    expect(rows.filter(({ runs, reason }) => !['yes', 'no'].includes(runs) || reason === '')).toEqual([]);
  });

  it('says yes exactly for the types that heddle check does not warn about', () => {
    const typesToRun = [...runnableTypes()].filter((type) => !needsNoExecutor(type));
    expect(typesToRun.sort()).toEqual(executableTypes.toSorted());
  });

  it('says no exactly for the types for which heddle blocks show has a reason', () => {
    expect(typesWith('no').filter((type) => unsupportedReason(type) === undefined)).toEqual([]);
    expect(typesWith('yes').filter((type) => unsupportedReason(type) !== undefined)).toEqual([]);
  });

  it('says yes exactly for the types that heddle blocks show describes', async () => {
    const descriptions = (await describeBlocks()).map(({ type }) => type);
    expect(typesWith('yes').sort()).toEqual(descriptions.sort());
  });

  it('has every type that Heddle knows, and every type of the format', () => {
    const listedTypes = rows.flatMap(({ types }) => types);
    const requiredTypes = [...typeNames(typeTable()), ...FORMAT_TYPES];
    expect(requiredTypes.filter((type) => !listedTypes.includes(type))).toEqual([]);
  });

  it('has each type once', () => {
    const listedTypes = rows.flatMap(({ types }) => types);
    expect(listedTypes.filter((type, index) => listedTypes.indexOf(type) !== index)).toEqual([]);
  });

  it('has the types of all exported workflows', () => {
    const listedTypes = new Set(rows.flatMap(({ types }) => types));
    const types = exportedTypes();
    expect(types.length).toBeGreaterThan(5);
    expect(types.filter((type) => !listedTypes.has(type))).toEqual([]);
  });

  it('has a section for each block of @heddle/blocks', () => {
    const page = readPage(PAGE);
    const types = blocks()
      .flatMap(({ types: [type = ''] }) => type)
      .filter((type) => type !== 'agent' && !integrations.includes(type));
    expect(types.filter((type) => !page.includes(`<!-- generated: block_${type} -->`))).toEqual([]);
  });
});

it('the table of personal data has the types that guardrails find', () => {
  const personalDataRows =
    tablesOf(PAGE, readPage(PAGE)).find(({ name }) => name === 'personal data')?.rows ?? [];
  const types: string[] = personalDataRows.flatMap(({ cells: [cell = ''] }) =>
    [...cell.matchAll(/`(\w+)`/g)].map(([, type = '']) => type),
  );
  expect(types.sort()).toEqual(supportedEntityTypes().sort());
});

describe('the described outputs of blocks in @heddle/blocks', async () => {
  const packageTypes = new Set(blocks().flatMap(({ types }) => types));
  const descriptions = (await describeBlocks()).filter(({ type }) => packageTypes.has(type));

  it.each(descriptions.map((description) => [description.type, description] as const))(
    'are the outputs that references may name: %s',
    (type, { outputs }) => {
      // References may name any output of a type without declared outputs.
      if (integrations.includes(type)) return expect(typeTable().get(type)?.outputs).toBeUndefined();
      const names = Object.keys(outputs['properties'] as object);
      const declaredOutputs = typeTable().get(type)?.outputs;
      // References may name any output of a type without declared outputs.
      if (!declaredOutputs) return expect(type).toBe('guardrails');
      // Exported workflows may name this output, but agents of Heddle do not have it.
      const expected = Object.keys(declaredOutputs).filter((name) => name !== 'interactionId');
      expect(names.sort()).toEqual(expected.sort());
    },
  );
});
