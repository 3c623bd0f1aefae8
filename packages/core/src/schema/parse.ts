import { diagnostic, DiagnosticList } from '../plan/diagnostics.ts';
import type { DiagnosticSink, Diagnostic } from '../plan/diagnostics.ts';
import { isJsonObject, getOwn } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import { identify, openEnvelope } from './envelope.ts';
import { validateInput, PARSE_LIMITS } from './validate.ts';
import { readBlock } from './read-block.ts';
import { readStoredContainers } from './stored-containers.ts';
import { readVariables } from './read-variables.ts';
import { edgeShape, parseShape } from './shapes.ts';
import type { Block, Edge, Workflow } from './workflow.ts';

/** Information about a workflow in addition to its text. */
export interface ParseOptions {
  /** Name of the input's file. A workflow without an id or a name gets it from the file name. */
  fileName?: string;
}

/** All diagnostics, and the workflow unless one of them is an error. */
export interface ParseResult {
  workflow?: Workflow;
  diagnostics: Diagnostic[];
}

/** Parses a workflow from JSON text in any accepted form. Never throws. */
export function parseWorkflowText(text: string, options: ParseOptions = {}): ParseResult {
  if (text.length > PARSE_LIMITS.textChars) {
    const message = `The text has ${text.length} characters; at most ${PARSE_LIMITS.textChars} are allowed.`;
    return failedResult(
      diagnostic('INPUT_TOO_LARGE', { path: [], message, hint: 'Move the data out of the workflow.' }),
    );
  }
  let input: unknown;
  try {
    input = JSON.parse(text.charCodeAt(0) === 0xfeff ? text.slice(1) : text);
  } catch (error) {
    const message = `The text is not JSON: ${(error as SyntaxError).message}.`;
    return failedResult(
      diagnostic('JSON_INVALID', { path: [], message, hint: 'Correct the text at this position.' }),
    );
  }
  return parseWorkflow(input, options);
}

/** Parses a workflow from a JSON value in any accepted form. Never throws on JSON, however hostile. */
export function parseWorkflow(input: unknown, options: ParseOptions = {}): ParseResult {
  const sink = new DiagnosticList();
  const statePath = openEnvelope(input as Json)?.statePath ?? [];
  const value = validateInput(input, { push: (item) => sink.push(relativeToState(item, statePath)) });
  const envelope = value === undefined ? undefined : openEnvelope(value);
  if (!envelope) {
    sink.push(
      diagnostic('INPUT_SHAPE', {
        path: [],
        message:
          'The input is not a workflow: it has no "blocks", and neither has its "state" or its "data".',
        hint: 'Pass an exported workflow, its "state", or a draft graph.',
      }),
    );
    return { diagnostics: sink.all() };
  }
  const { state } = envelope;
  const metadata = getOwn(state, 'metadata');
  const workflow: Workflow = {
    ...identify(envelope, options.fileName),
    dialect: isJsonObject(metadata) && getOwn(metadata, 'engine') === 'heddle' ? 'heddle' : 'import',
    blocks: readBlocks(getOwn(state, 'blocks'), sink),
    edges: readEdges(getOwn(state, 'edges'), sink),
    variables: readVariables(getOwn(state, 'variables'), sink),
    storedContainers: readStoredContainers(state, sink),
  };
  const diagnostics = sink.all();
  return sink.hasErrors ? { diagnostics } : { workflow, diagnostics };
}

function failedResult(error: Diagnostic): ParseResult {
  return { diagnostics: [error] };
}

/** Returns the diagnostic with its path from the root of the state instead of the root of the input. */
function relativeToState(item: Diagnostic, statePath: readonly string[]): Diagnostic {
  const isInside = statePath.every((key, depth) => item.path[depth] === key);
  return isInside ? { ...item, path: item.path.slice(statePath.length) } : item;
}

function readBlocks(blocks: Json | undefined, sink: DiagnosticSink): Block[] {
  if (!isJsonObject(blocks)) {
    sink.push(wrongTypeDiagnostic('blocks', 'an object with the blocks by id', blocks));
    return [];
  }
  const entries = Object.entries(blocks as JsonObject);
  if (entries.length > PARSE_LIMITS.blocks) {
    sink.push(tooManyItemsDiagnostic('blocks', entries.length, PARSE_LIMITS.blocks));
    return [];
  }
  return entries.flatMap(([key, value]) => readBlock(key, value, sink) ?? []);
}

function readEdges(edges: Json | undefined, sink: DiagnosticSink): Edge[] {
  if (!Array.isArray(edges)) {
    sink.push(wrongTypeDiagnostic('edges', 'an array of edges', edges));
    return [];
  }
  if (edges.length > PARSE_LIMITS.edges) {
    sink.push(tooManyItemsDiagnostic('edges', edges.length, PARSE_LIMITS.edges));
    return [];
  }
  return edges.flatMap((value, index): Edge[] => {
    const storedEdge = parseShape(edgeShape, value, ['edges', index], sink);
    if (!storedEdge) return [];
    const port = storedEdge.sourceHandle ?? '';
    return [{ source: storedEdge.source, target: storedEdge.target, ...(port !== '' && { port }) }];
  });
}

function wrongTypeDiagnostic(key: string, expected: string, value: Json | undefined): Diagnostic {
  const received =
    value === undefined
      ? 'nothing'
      : Array.isArray(value)
        ? 'an array'
        : value === null
          ? 'null'
          : typeof value;
  return diagnostic('INPUT_SHAPE', {
    path: [key],
    message: `${key}: expected ${expected}, received ${received}.`,
    hint: 'Pass an exported workflow, its "state", or a draft graph.',
  });
}

function tooManyItemsDiagnostic(key: string, count: number, maximum: number): Diagnostic {
  return diagnostic('INPUT_TOO_LARGE', {
    path: [key],
    message: `The workflow has ${count} ${key}; at most ${maximum} are allowed.`,
    hint: 'Split the workflow: a block can run another workflow as its child.',
  });
}
