import { diagnostic } from '../plan/diagnostics.ts';
import type { DiagnosticSink } from '../plan/diagnostics.ts';
import type { Json } from '../json.ts';
import { readJsonText } from './read-json-text.ts';
import { parseShape, variableShape } from './shapes.ts';
import { VARIABLE_TYPES } from './workflow.ts';
import type { Variable } from './workflow.ts';

/** Reads the workflow's variables from any stored form: a record by id, an array, or either as JSON text. */
export function readVariables(storedVariables: Json | undefined, sink: DiagnosticSink): Variable[] {
  const value =
    typeof storedVariables === 'string' ? readVariablesText(storedVariables, sink) : storedVariables;
  if (value == null) return [];
  if (typeof value !== 'object') {
    sink.push(
      diagnostic('INPUT_SHAPE', {
        path: ['variables'],
        message: `variables: expected an object or an array, received ${typeof value}.`,
        hint: 'Store variables by id: {"<id>": {"id", "name", "type", "value"}}.',
      }),
    );
    return [];
  }
  const variables: Variable[] = [];
  const seenIds = new Set<string>();
  for (const [key, entry] of Object.entries(value)) {
    const variable =
      entry === null ? undefined : readVariable(Array.isArray(value) ? Number(key) : key, entry, sink);
    if (!variable) continue;
    if (seenIds.has(variable.id)) reportDuplicate(key, variable.id, sink);
    else variables.push(variable);
    seenIds.add(variable.id);
  }
  return variables;
}

function readVariablesText(text: string, sink: DiagnosticSink): Json {
  if (text.trim() === '') return null;
  const { value } = readJsonText(text);
  if (value !== undefined && (typeof value === 'object' || value === null)) return value;
  sink.push(
    diagnostic('INPUT_SHAPE', {
      path: ['variables'],
      message: 'variables: the text is not a JSON object or array.',
      hint: 'Store variables by id: {"<id>": {"id", "name", "type", "value"}}.',
    }),
  );
  return null;
}

function readVariable(key: string | number, entry: Json, sink: DiagnosticSink): Variable | undefined {
  const path = ['variables', key];
  const storedVariable = parseShape(variableShape, entry, path, sink);
  if (!storedVariable) return undefined;
  const type = VARIABLE_TYPES.find((variableType) => variableType === (storedVariable.type ?? 'string'));
  if (type === undefined) {
    sink.push(
      diagnostic('VARIABLE_TYPE_UNKNOWN', {
        path: [...path, 'type'],
        message: `The variable "${storedVariable.name}" has the unknown type "${storedVariable.type}" and is read as a string.`,
        hint: `Use one of ${VARIABLE_TYPES.join(', ')}.`,
      }),
    );
  }
  const id = storedVariable.id ?? (typeof key === 'string' ? key : storedVariable.name);
  return {
    id,
    name: storedVariable.name,
    type: type ?? 'string',
    value: (storedVariable.value ?? null) as Json,
  };
}

function reportDuplicate(key: string, id: string, sink: DiagnosticSink): void {
  sink.push(
    diagnostic('INPUT_SHAPE', {
      path: ['variables', key, 'id'],
      message: `Two variables have the id "${id}".`,
      hint: 'Give each variable a unique id.',
    }),
  );
}
