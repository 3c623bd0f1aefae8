import { BlockError } from '../errors.ts';
import { isJsonObject, getOwn, parseIfJson, type Json, type JsonObject } from '../json.ts';
import type { OutputSchema } from '../plan/plan.ts';
import type {
  BlockReference,
  ContainerReference,
  ContainerValues,
  Lookup,
  ResultsReference,
} from './lookup.ts';
import { followPath } from './path.ts';
import type { PathStep, Reference, Template, TextPart } from './template.ts';

/** The result of resolving a reference. `text`: the reference has no meaning here, and its authored text stays. */
export type ResolvedReference = { kind: 'value'; value: Json } | { kind: 'empty' } | { kind: 'text' };

const EMPTY_REFERENCE: ResolvedReference = { kind: 'empty' };

/**
 * Returns the value of a reference, or undefined if it is empty: the block did not run, or the path does not exist.
 *
 * Throws BlockError REFERENCE_UNRESOLVED for a path outside a block's declared outputs, and for a reference that cannot
 * have a value, for example `<loop.currentItem>` in a loop with a count.
 */
export function resolveReference(ref: Reference, lookup: Lookup): Json | undefined {
  const outcome = evaluateReference(ref, lookup);
  if (outcome.kind === 'text')
    throw unresolvedError(
      `${ref.text} has no value here. Check that the container iterates over a collection, and that the items have this path.`,
    );
  return outcome.kind === 'value' ? outcome.value : undefined;
}

/** How to resolve a string that is exactly one reference or placeholder; see `resolveTemplate`. */
export type ResolveMode = 'text' | 'native' | 'json';

/**
 * Returns the value of a compiled field. Values are never scanned for references.
 *
 * `text`: the result is always a string, with objects and arrays as JSON text. `native`: a string that is exactly one
 * reference keeps the type of its value. An empty reference is '' in both. `json`: like `native`, but an empty
 * reference is null, and a string that is exactly one placeholder is the value of its JSON text, or a string if it is
 * not JSON.
 */
export function resolveTemplate(template: Template, lookup: Lookup, mode: ResolveMode): Json {
  switch (template.kind) {
    case 'literal':
      return template.value;
    case 'text':
      return resolveText(template.parts, lookup, mode);
    case 'list':
      return template.items.map((item) => resolveTemplate(item, lookup, mode));
    case 'object':
      return Object.fromEntries(
        template.entries.map(([key, item]) => [key, resolveTemplate(item, lookup, mode)]),
      );
  }
}

/**
 * Returns how a reference resolves: to a value, to nothing, or to its text. Throws BlockError REFERENCE_UNRESOLVED for
 * a path outside the declared outputs, and for an invalid reference.
 */
export function evaluateReference(ref: Reference, lookup: Lookup): ResolvedReference {
  switch (ref.kind) {
    case 'block':
      return evaluateBlock(ref, lookup);
    case 'container':
      return toResolvedReference(containerValue(ref, lookup), ref);
    case 'results':
      return toResolvedReference(resultsValue(ref, lookup), ref);
    case 'variable':
      return toResolvedReference(followPath(lookup.variable(ref.variable), ref.path), {});
    case 'invalid':
      throw unresolvedError(ref.message);
  }
}

function resolveText(parts: readonly TextPart[], lookup: Lookup, mode: ResolveMode): Json {
  const [hole] = parts;
  if (mode !== 'text' && parts.length === 1 && hole !== undefined && typeof hole !== 'string')
    return holeValue(hole, lookup, mode);
  return parts.map((part) => partText(part, lookup)).join('');
}

/** Returns the value of a string that is exactly this reference or placeholder. */
function holeValue(hole: Exclude<TextPart, string>, lookup: Lookup, mode: 'native' | 'json'): Json {
  if ('env' in hole) {
    const text = partText(hole, lookup);
    return mode === 'json' ? parseIfJson(text) : text;
  }
  const outcome = evaluateReference(hole.ref, lookup);
  if (outcome.kind === 'value') return outcome.value;
  return mode === 'json' && outcome.kind === 'empty' ? null : textOf(outcome, hole.ref);
}

/** Returns the text of one part of a template. */
export function partText(part: TextPart, lookup: Lookup): string {
  if (typeof part === 'string') return part;
  if ('env' in part) return lookup.env(part.env) ?? part.text;
  return textOf(evaluateReference(part.ref, lookup), part.ref);
}

function textOf(outcome: ResolvedReference, ref: Reference): string {
  if (outcome.kind === 'text') return ref.text;
  if (outcome.kind === 'empty') return '';
  return typeof outcome.value === 'object' && outcome.value !== null
    ? JSON.stringify(outcome.value)
    : String(outcome.value);
}

function toResolvedReference(value: Json | undefined, { generic }: { generic?: true }): ResolvedReference {
  if (value !== undefined) return { kind: 'value', value };
  return generic === true ? { kind: 'text' } : EMPTY_REFERENCE;
}

function evaluateBlock(ref: BlockReference, lookup: Lookup): ResolvedReference {
  const execution = lookup.block(ref);
  if (!execution.ran) return EMPTY_REFERENCE;
  const block = lookup.describe(ref.block);
  const path = withoutLegacyResponse(ref.path, block.type, execution.output);
  const value = followPath(execution.output, path);
  if (value !== undefined) return { kind: 'value', value };
  if (block.outputs !== undefined && !mayBeMissing(path, block.outputs)) {
    throw unresolvedError(missingOutputMessage(ref, block.name, block.outputs));
  }
  return EMPTY_REFERENCE;
}

function containerValue(ref: ContainerReference, lookup: Lookup): Json | undefined {
  const values = lookup.container(ref);
  if (values === undefined) return undefined;
  const isParallel = lookup.describe(ref.block).type === 'parallel';
  return followPath(containerField(ref.field, values, isParallel), ref.path);
}

/** Returns a field of a container. A parallel always has items: an empty array if it has only a count. */
function containerField(
  field: ContainerReference['field'],
  values: ContainerValues,
  isParallel: boolean,
): Json | undefined {
  const items = values.items ?? (isParallel ? [] : undefined);
  if (field === 'items') return items;
  if (field !== 'all') return values[field];
  const fields: JsonObject = { index: values.index };
  if (values.currentItem !== undefined) fields.currentItem = values.currentItem;
  if (items !== undefined) fields.items = items;
  return fields;
}

function resultsValue(ref: ResultsReference, lookup: Lookup): Json | undefined {
  const results = lookup.results(ref);
  return results !== undefined && ref.whole ? { results } : followPath(results, ref.path);
}

/**
 * Returns the path without the extra `response` of older workflows, unless the output has it: they use
 * `<reply.response.data>` for a Response block and `<child.result.response.data>` for a child workflow that ends in
 * one.
 */
function withoutLegacyResponse(path: PathStep[], type: string, output: Json): PathStep[] {
  if (type === 'response' && path[0] === 'response' && lacksResponse(output)) return path.slice(1);
  const isChild = type === 'workflow' || type === 'workflow_input';
  if (!isChild || path[0] !== 'result' || path[1] !== 'response') return path;
  return lacksResponse(followPath(output, ['result'])) ? ['result', ...path.slice(2)] : path;
}

function lacksResponse(value: Json | undefined): boolean {
  return isJsonObject(value) && getOwn(value, 'response') === undefined;
}

/**
 * Returns true for an output that may be missing. `error` may be missing, because a successful block has none and a
 * handler of several blocks reads it from all of them.
 */
function mayBeMissing(path: readonly PathStep[], { fields }: OutputSchema): boolean {
  const [firstStep, ...deeperSteps] = path;
  if (firstStep === undefined || firstStep === 'error') return true;
  const field =
    typeof firstStep === 'string' && Object.hasOwn(fields, firstStep) ? fields[firstStep] : undefined;
  return field !== undefined && (field.opaque || deeperSteps.length === 0);
}

function missingOutputMessage(ref: BlockReference, name: string, { fields }: OutputSchema): string {
  const availableFields = Object.keys(fields).join(', ') || 'none';
  return `${ref.text}: block "${name}" does not have this output. Available fields: ${availableFields}.`;
}

function unresolvedError(message: string): BlockError {
  return new BlockError('REFERENCE_UNRESOLVED', message, { retryable: false });
}
