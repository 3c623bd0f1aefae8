import { isObject } from '../components/json.ts';
import { answerOf } from './pause-fields.ts';
import type { PauseField } from './pause-fields.ts';

/** A tool call that waits for a decision. */
export interface PendingToolCall {
  id: string;
  name: string;
  arguments: { [name: string]: unknown };
  /** JSON Schema of the arguments. */
  parameters: { [key: string]: unknown };
}

/** What a person has entered for a tool call. */
export interface CallDecision {
  kind: '' | 'approve' | 'edit' | 'deny';
  /** The entered text of each field of the arguments. */
  values?: { [name: string]: string };
  reason?: string;
}

type JsonObject = { readonly [key: string]: unknown };

/** Returns the calls in the output of a pause point. The output is data of a run, so any part may have another type. */
export function callsOf(output: unknown): PendingToolCall[] {
  const calls = isObject(output) ? output['calls'] : undefined;
  if (!Array.isArray(calls)) return [];
  return calls.flatMap((call: unknown) => {
    if (!isObject(call) || typeof call['id'] !== 'string' || typeof call['name'] !== 'string') return [];
    const { id, name, arguments: args, parameters } = call;
    return [
      {
        id,
        name,
        arguments: isObject(args) ? args : {},
        parameters: isObject(parameters) ? parameters : {},
      },
    ];
  });
}

/** Returns a field for each property in the schema, and for each further argument of the call. */
export function fieldsOfCall({ arguments: args, parameters }: PendingToolCall): PauseField[] {
  const properties: JsonObject = isObject(parameters['properties']) ? parameters['properties'] : {};
  const names = new Set([...Object.keys(properties), ...Object.keys(args)]);
  return [...names].map((name) => {
    const value = Object.hasOwn(args, name) ? args[name] : undefined;
    const schema = isObject(properties[name]) ? properties[name] : {};
    const type = fieldTypeOf(schema['type'], value);
    return {
      name,
      type,
      description: typeof schema['description'] === 'string' ? schema['description'] : '',
      initialText:
        value === undefined
          ? ''
          : typeof value === 'string' && type === 'string'
            ? value
            : JSON.stringify(value),
    };
  });
}

/** Returns the type of a field. A value that does not fit the type of its schema is edited as JSON. */
function fieldTypeOf(schemaType: unknown, value: unknown): string {
  const fitsSchema =
    value === undefined ||
    (schemaType === 'integer' ? typeof value === 'number' : typeof value === schemaType);
  if (schemaType === 'string' || schemaType === 'boolean') return fitsSchema ? schemaType : 'object';
  if (schemaType === 'number' || schemaType === 'integer') return fitsSchema ? 'number' : 'object';
  return schemaType === undefined && typeof value === 'string' ? 'string' : 'object';
}

/**
 * Returns the answer that contains a decision for each call. Throws an Error that names a call without a decision, or a
 * field whose text is not JSON.
 */
export function answerOfDecisions(
  calls: readonly PendingToolCall[],
  decisions: { readonly [id: string]: CallDecision },
): { decisions: { [id: string]: object } } {
  const entries = calls.map((call) => {
    const { kind = '', values = {}, reason = '' } = decisions[call.id] ?? {};
    if (kind === '') throw new Error(`Select a decision for ${call.name}.`);
    const editedArguments = kind === 'edit' && { arguments: answerOf(fieldsOfCall(call), values) };
    return [call.id, { decision: kind, ...editedArguments, ...(reason !== '' && { reason }) }];
  });
  return { decisions: Object.fromEntries(entries) as { [id: string]: object } };
}
