import type { ContainedBlock } from '../graph/containment.ts';
import { routerRows } from '../graph/rows.ts';
import { isJsonObject, getOwn } from '../json.ts';
import type { Json } from '../json.ts';
import type { Compilation } from './compilation.ts';
import { readConditions } from './conditions.ts';
import { diagnostic } from './diagnostics.ts';
import { outputSchema } from './outputs.ts';
import type { BlockConfig } from './plan.ts';
import { fieldLocation } from './field-location.ts';
import { checkCode } from './syntax.ts';
import { isTriggerType } from './types.ts';
import { compileCode } from '../refs/code.ts';
import { referencesIn } from '../refs/template.ts';
import type { CodeTemplate, Template } from '../refs/template.ts';
import { compileTemplate } from '../refs/text.ts';
import { isContainerType } from '../schema/read-block.ts';
import type { Block } from '../schema/workflow.ts';

/**
 * Returns the configuration of one block for its executor, with compiled references. `readContainer` reads the settings
 * of a container.
 */
export function configureBlock(compilation: Compilation, containedBlock: ContainedBlock): BlockConfig {
  const { block, containers } = containedBlock;
  const trigger = block.trigger || isTriggerType(block.type);
  const code = block.type === 'function' && !trigger ? readCode(compilation, block) : undefined;
  const conditions = block.type === 'condition' ? readConditions(compilation, block) : undefined;
  const outputs = outputSchema(block, compilation.types);
  const separateFields = new Set([...(code ? ['code'] : []), ...(conditions ? ['conditions'] : [])]);
  return {
    ...(code && { code }),
    ...(conditions && { conditions }),
    containers: [...containers],
    id: block.id,
    name: block.name,
    ...(outputs && { outputs }),
    params: isContainerType(block.type) ? {} : readParams(compilation, block, { trigger, separateFields }),
    sources: [
      ...new Set((compilation.structure.incomingEdges.get(block.id) ?? []).map(({ source }) => source)),
    ],
    trigger,
    type: block.type,
  };
}

function readParams(
  compilation: Compilation,
  block: Block,
  { trigger, separateFields }: { trigger: boolean; separateFields: ReadonlySet<string> },
): { [name: string]: Template } {
  const params: { [name: string]: Template } = {};
  for (const name of Object.keys(block.fields)) {
    if (separateFields.has(name)) continue;
    const value = fieldValue(compilation, block, name);
    if (trigger || (block.type === 'condition' && name === 'conditions')) {
      // No block runs before a trigger, so its fields need no compilation. Unreadable rows stay text.
      params[name] = { kind: 'literal', value };
      continue;
    }
    const location = fieldLocation(block, name);
    const { template, findings } = compileTemplate(value, compilation.context(location));
    compilation.report(location, findings, 'text');
    compilation.addReferences(location, referencesIn(template));
    params[name] = template;
  }
  return params;
}

/** Returns the value of a field. Routes are returned as rows, so that referenced values cannot break the list. */
function fieldValue(compilation: Compilation, block: Block, name: string): Json {
  const value = getOwn(block.fields, name) ?? null;
  if (block.type !== 'router_v2' || name !== 'routes') return value;
  const { rows, problem } = routerRows(block);
  if (problem === undefined) return rows.map((row): Json => ({ ...row }));
  compilation.sink.push(
    diagnostic('ROUTES_UNREADABLE', {
      blockId: block.id,
      path: fieldLocation(block, name).path,
      message: `The routes of "${block.name}" cannot be read: ${problem}`,
      hint: 'Use a JSON array of {id, title, value}.',
    }),
  );
  return value;
}

const LANGUAGES = ['javascript', 'python', 'shell'] as const;

/** Returns the compiled code of a function block; undefined if its language is unknown. */
function readCode(compilation: Compilation, block: Block): CodeTemplate | undefined {
  const location = fieldLocation(block, 'code');
  const value = getOwn(block.fields, 'language') ?? 'javascript';
  const language = value === '' ? 'javascript' : LANGUAGES.find((candidate) => candidate === value);
  if (language === undefined) {
    compilation.sink.push(
      diagnostic('LANGUAGE_UNKNOWN', {
        blockId: block.id,
        path: fieldLocation(block, 'language').path,
        message: `"${block.name}" has the language ${JSON.stringify(value)}, which function blocks do not support.`,
        hint: `Use one of ${LANGUAGES.join(', ')}.`,
      }),
    );
    return undefined;
  }
  const text = codeText(getOwn(block.fields, 'code'));
  if (text.trim() === '') {
    compilation.sink.push(
      diagnostic('FIELD_EMPTY', {
        blockId: block.id,
        path: location.path,
        message: `"${block.name}" has no code and fails when it is reached.`,
        hint: 'Write its code, or remove the block.',
      }),
    );
  }
  const { code, findings } = compileCode(text, language, compilation.context(location));
  compilation.report(location, findings, 'code');
  checkCode(compilation, location, { code, findings });
  compilation.addReferences(location, referencesIn(code));
  return code;
}

/** Returns the code: a string, or the joined lines of an array of `{content}` fragments. */
function codeText(value: Json | undefined): string {
  if (typeof value === 'string') return value;
  if (!Array.isArray(value)) return '';
  const fragments = value.filter(isJsonObject).map((fragment) => getOwn(fragment, 'content'));
  return fragments.filter((fragment) => typeof fragment === 'string').join('\n');
}
