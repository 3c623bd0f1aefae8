import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describeBlocks, workflowSchemaOf } from '@heddle/blocks';
import type { JsonObject } from '@heddle/core';
import { Validator } from '@cfworker/json-schema';
import { describe, expect, it } from 'vitest';
import { builtInExecutors } from '../../packages/engine/src/executors/built-ins.ts';
import { codeBlocksOf, readPage, repository } from './markdown.ts';

const descriptions = await describeBlocks();
const schema = await workflowSchemaOf(descriptions);
const validator = new Validator(schema as never, '7', false);
const findProblems = (workflow: unknown): string[] =>
  validator.validate(workflow).errors.map(({ instanceLocation, error }) => `${instanceLocation}: ${error}`);

/** Returns a workflow with one block. */
const workflowWithBlock = (type: string, fields: JsonObject, properties: JsonObject = {}): JsonObject => ({
  blocks: {
    b: {
      type,
      name: 'B',
      subBlocks: Object.fromEntries(Object.entries(fields).map(([id, value]) => [id, { id, value }])),
      ...properties,
    },
  },
  edges: [],
});

const FOLDERS = ['test/fixtures/exported', 'examples', 'examples/*'].map((folder) =>
  join(repository, folder),
);
const files = [
  ...FOLDERS,
  ...(process.env['HEDDLE_WORKFLOWS'] === undefined ? [] : [process.env['HEDDLE_WORKFLOWS']]),
]
  .flatMap((folder) => globSync(`${folder}/*.json`))
  .filter((file) => /"edges"/.test(readFileSync(file, 'utf8')));
const examples = codeBlocksOf('docs/format.md', readPage('docs/format.md')).filter(
  ({ attributes }) => attributes.has('workflow') && !attributes.has('refused'),
);

describe('the JSON Schema of workflow files', () => {
  it('equals the published file (npm test -- test/docs/workflow-schema -u updates it)', async () => {
    const text = `${JSON.stringify(schema, null, 2)}\n`;
    await expect(text).toMatchFileSnapshot(join(repository, 'packages/blocks/workflow.schema.json'));
  });

  it.each(files.map((file) => [file.split('/').at(-1), file]))('accepts %s', (_name, file) => {
    expect(findProblems(JSON.parse(readFileSync(file ?? '', 'utf8')))).toEqual([]);
  });

  it.each(examples.map(({ location, text }) => [location, text]))(
    'accepts the workflow at %s',
    (_location, text) => {
      expect(findProblems(JSON.parse(text ?? ''))).toEqual([]);
    },
  );

  it('has every type that the engine runs', () => {
    const types = descriptions.map(({ type }) => type);
    expect(types).toEqual(expect.arrayContaining(builtInExecutors.flatMap((executor) => executor.types)));
  });

  it.each<[description: string, workflow: JsonObject]>([
    [
      'references and empty fields',
      workflowWithBlock('api', { url: null, method: '<start.method>', retries: '{{N}}' }),
    ],
    [
      'numbers and booleans as strings',
      workflowWithBlock('api', { timeout: '100', retryNonIdempotent: 'true' }),
    ],
    ['arrays as JSON strings', workflowWithBlock('router_v2', { context: 1, routes: '[{"id": "a"}]' })],
    ['types of custom blocks', workflowWithBlock('mine', { any: 1 })],
    ['blocks in trigger mode', workflowWithBlock('wait', { timeUnit: 'years' }, { triggerMode: true })],
    ['a state inside an envelope', { data: { state: workflowWithBlock('wait', {}) } }],
  ])('accepts %s', (_title, workflow) => {
    expect(findProblems(workflow)).toEqual([]);
  });

  it.each<[description: string, workflow: JsonObject]>([
    ['a graph without edges', { blocks: {} }],
    ['a block without a type', { blocks: { b: { name: 'B' } }, edges: [] }],
    ['an edge without a target', { blocks: {}, edges: [{ source: 'a' }] }],
    ['an unknown method of an API block', workflowWithBlock('api', { method: 'FTECH' })],
    ['an unknown type of validation', workflowWithBlock('guardrails', { validationType: 'jsonn' })],
    ['a word in place of a number', workflowWithBlock('translate', { temperature: 'hot' })],
    ['a number that is too large', workflowWithBlock('translate', { temperature: 3 })],
    ['a number in place of an array', workflowWithBlock('router_v2', { routes: 7 })],
    [
      'an unknown method inside an envelope',
      { data: { state: workflowWithBlock('api', { method: 'FTECH' }) } },
    ],
  ])('refuses %s', (_title, workflow) => {
    expect(findProblems(workflow)).not.toEqual([]);
  });
});
