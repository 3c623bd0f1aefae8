import type { Json, JsonObject } from '@heddle/core';
import { isJsonObject } from '@heddle/core/blocks';
import * as z from 'zod';
import { objectOrEmpty } from './containers.ts';

/** Maximum number of variables of a draft. */
const MAX_VARIABLES = 1000;
/** Maximum number of operations of a request. */
const MAX_OPERATIONS = 100;

const name = z.string().trim().min(1).max(255);
const type = z.enum(['string', 'number', 'boolean', 'object', 'array', 'plain']);
const value = z.unknown();

export const variablesBody = z.strictObject({
  operations: z
    .array(
      z.discriminatedUnion('operation', [
        z.strictObject({ operation: z.literal('add'), name, type, value }),
        z.strictObject({ operation: z.literal('edit'), name, type: type.optional(), value }),
        z.strictObject({ operation: z.literal('delete'), name }),
      ]),
    )
    .min(1)
    .max(MAX_OPERATIONS),
});

export type VariableOperation = z.output<typeof variablesBody>['operations'][number];
type VariableType = z.output<typeof type>;

/** A request that cannot be applied to the variables of the draft. */
export class VariableError extends Error {
  override readonly name = 'VariableError';
}

/**
 * Applies the operations in order. Finds variables by name. Does not change `draftVariables`.
 *
 * @returns the variables by id, and whether they differ from `draftVariables`.
 * @throws {VariableError} if a variable to add exists, a variable to edit does not exist, or there would be too many.
 */
export function applyVariables(
  draftVariables: JsonObject,
  operations: readonly VariableOperation[],
  createId: () => string,
): { variables: JsonObject; changed: boolean } {
  const variables = new Map(Object.entries(draftVariables));
  const idByName = new Map(
    [...variables].map(([id, storedVariable]) => [objectOrEmpty(storedVariable)['name'], id]),
  );
  let changed = false;
  for (const operation of operations) {
    const id = idByName.get(operation.name);
    if (operation.operation === 'delete') {
      if (id === undefined) continue;
      variables.delete(id);
      idByName.delete(operation.name);
      changed = true;
      continue;
    }
    const storedVariable = id === undefined ? undefined : variables.get(id);
    const nextVariable = mergeOperation(operation, { id, storedVariable, createId });
    const isUnchanged = id !== undefined && JSON.stringify(nextVariable) === JSON.stringify(storedVariable);
    if (isUnchanged) continue;
    const key = String(nextVariable['id']);
    variables.set(key, nextVariable);
    idByName.set(operation.name, key);
    changed = true;
  }
  if (variables.size > MAX_VARIABLES)
    throw new VariableError(`A draft has at most ${MAX_VARIABLES} variables`);
  return { variables: Object.fromEntries(variables), changed };
}

function mergeOperation(
  operation: Exclude<VariableOperation, { operation: 'delete' }>,
  {
    id,
    storedVariable,
    createId,
  }: { id: string | undefined; storedVariable: Json | undefined; createId: () => string },
): JsonObject & { id: string } {
  if (operation.operation === 'add' && id !== undefined) {
    throw new VariableError(`A variable named "${operation.name}" already exists. Use the operation "edit".`);
  }
  if (operation.operation === 'edit' && id === undefined) {
    throw new VariableError(`No variable is named "${operation.name}". Use the operation "add".`);
  }
  const previous = objectOrEmpty(storedVariable);
  const variableType = operation.type ?? parseTypeOrDefault(previous['type']);
  return {
    ...previous,
    id: id ?? createId(),
    name: operation.name,
    type: variableType,
    value: coerce(operation.value as Json, variableType),
  };
}

function parseTypeOrDefault(storedType: Json | undefined): VariableType {
  const parsed = type.safeParse(storedType);
  return parsed.success ? parsed.data : 'string';
}

/** Returns the value converted to the type; unchanged if it cannot be converted. */
export function coerce(input: Json | undefined, targetType: VariableType): Json {
  const json = input ?? null;
  if (targetType === 'number') return coerceToNumber(json);
  if (targetType === 'boolean') return json === 'true' ? true : json === 'false' ? false : json;
  if (targetType === 'object' || targetType === 'array') return coerceToStructure(json, targetType);
  if (typeof json === 'string' || json === null) return json;
  return typeof json === 'object' ? JSON.stringify(json) : String(json);
}

function coerceToNumber(json: Json): Json {
  if (typeof json !== 'string' || json.trim() === '') return json;
  const number = Number(json);
  return Number.isFinite(number) ? number : json;
}

function coerceToStructure(json: Json, target: 'object' | 'array'): Json {
  if (typeof json !== 'string') return json;
  try {
    const parsed = JSON.parse(json) as Json;
    const hasType = target === 'array' ? Array.isArray(parsed) : isJsonObject(parsed);
    return hasType ? parsed : json;
  } catch {
    return json;
  }
}
