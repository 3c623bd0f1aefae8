import { checkWorkflow, parseWorkflow } from '@heddle/core';
import type { Diagnostic, Json, JsonObject } from '@heddle/core';
import type { Graph } from './graph.ts';
import type { LintReport } from './draft-schemas.ts';

type BlockRef = { blockId: string; blockName: string | null; blockType: string | null };

const UNRESOLVED = new Set(['REFERENCE_UNKNOWN_BLOCK', 'REFERENCE_UNKNOWN_VARIABLE', 'REFERENCE_INVALID']);
const FIELDS = new Set(['FIELD_REQUIRED', 'FIELD_EMPTY']);
const CODE = new Set(['LANGUAGE_UNKNOWN', 'SYNTAX_INVALID']);
const TARGETS = new Set(['EDGE_TO_NOWHERE', 'EDGE_TO_SELF', 'EDGE_ACROSS_SCOPES']);

/** Returns the problems of a draft. They are advice: a draft with problems can be saved. */
export function lint(workflow: JsonObject, graph: Graph, compat: boolean): LintReport {
  const diagnostics = diagnose(workflow, compat);
  const ref = (id: string | undefined): BlockRef => refOf(graph, id ?? '');
  const of = (codes: ReadonlySet<string>): Diagnostic[] => diagnostics.filter(({ code }) => codes.has(code));
  return {
    checks: checks(),
    ...wiring(graph),
    emptyOutgoingPorts: emptyPorts(graph),
    invalidBranchPorts: of(new Set(['PORT_UNKNOWN'])).map((each) => ({
      ...ref(each.blockId ?? text(edgeOf(graph, each)['source'])),
      sourceHandle: textOrNull(edgeOf(graph, each)['sourceHandle']),
      reason: each.message,
    })),
    invalidConnectionTargets: of(TARGETS).map((each) => {
      const edge = edgeOf(graph, each);
      const sourceHandle = textOrNull(edge['sourceHandle']);
      const ends = { sourceBlockId: text(edge['source']), targetBlockId: text(edge['target']) };
      return { ...ends, sourceHandle, reason: each.message };
    }),
    fieldIssues: of(FIELDS).map((each) => ({
      ...ref(each.blockId),
      missingRequiredFields: [fieldOf(each)],
      inactiveModeValues: [],
    })),
    unresolvedReferences: of(UNRESOLVED).map((each) => ({
      ...ref(each.blockId),
      field: fieldOf(each),
      value: /<[^>]+>/.exec(each.message)?.[0] ?? '',
      kind: 'block-output',
      reason: each.message,
    })),
    codeIssues: of(CODE).map((each) => ({
      ...ref(each.blockId),
      field: fieldOf(each),
      language: each.code === 'SYNTAX_INVALID' ? 'javascript' : 'unknown',
      message: each.message,
    })),
    tableFieldIssues: [],
    diagnostics: diagnostics.map(({ blockId, ...each }) => ({ ...each, blockId: blockId ?? null })),
    notes: ['A draft with problems is saved. Only a draft without errors can be deployed.'],
  };
}

/** Returns the diagnostics of parsing and checking. */
function diagnose(workflow: JsonObject, compat: boolean): Diagnostic[] {
  const parsed = parseWorkflow(workflow);
  if (!parsed.workflow) return parsed.diagnostics;
  return [...parsed.diagnostics, ...checkWorkflow(parsed.workflow, compat ? { compat } : {})];
}

function checks(): LintReport['checks'] {
  const complete = ['graph', 'fields', 'block-output-references', 'branch-output-references'];
  return [
    ...complete.map((name) => ({
      name,
      status: 'complete' as const,
      detail: 'Checked as for a deployment.',
    })),
    {
      name: 'embedded-code-syntax',
      status: 'partial',
      detail: 'JavaScript is parsed. In other languages only the references are checked.',
    },
    { name: 'runtime-execution', status: 'skipped', detail: 'Nothing is run.' },
  ];
}

/** Returns blocks without incoming edges, without outgoing edges, and without either. */
function wiring(graph: Graph): Pick<LintReport, 'sources' | 'sinks' | 'orphanBlocks'> {
  const entered = new Set(graph.edges.map((edge) => text(edge['target'])));
  const left = new Set(graph.edges.map((edge) => text(edge['source'])));
  const ids = Object.keys(graph.blocks);
  const refs = (matches: (id: string) => boolean): BlockRef[] =>
    ids.filter(matches).map((id) => refOf(graph, id));
  return {
    sources: refs((id) => !entered.has(id)),
    sinks: refs((id) => !left.has(id)),
    orphanBlocks: refs((id) => !entered.has(id) && !left.has(id)),
  };
}

/** Returns containers whose start port has no edge. */
function emptyPorts(graph: Graph): LintReport['emptyOutgoingPorts'] {
  const used = new Set(graph.edges.map((edge) => `${text(edge['source'])} ${text(edge['sourceHandle'])}`));
  return Object.entries(graph.blocks).flatMap(([id, block]) => {
    if (block['type'] !== 'loop' && block['type'] !== 'parallel') return [];
    const handle = `${block['type']}-start-source`;
    return used.has(`${id} ${handle}`) ? [] : [{ ...refOf(graph, id), handle, label: 'Start' }];
  });
}

function refOf(graph: Graph, blockId: string): BlockRef {
  const block = Object.hasOwn(graph.blocks, blockId) ? graph.blocks[blockId] : undefined;
  return { blockId, blockName: textOrNull(block?.['name']), blockType: textOrNull(block?.['type']) };
}

function edgeOf(graph: Graph, { path }: Diagnostic): JsonObject {
  const [first, index] = path;
  return (first === 'edges' && typeof index === 'number' ? graph.edges[index] : undefined) ?? {};
}

/** Returns the sub-block of a diagnostic. */
function fieldOf({ path }: Diagnostic): string {
  const at = path.indexOf('subBlocks');
  return String(at < 0 ? (path.at(-1) ?? '') : (path[at + 1] ?? ''));
}

function text(value: Json | undefined): string {
  return typeof value === 'string' ? value : '';
}

function textOrNull(value: Json | undefined): string | null {
  return typeof value === 'string' ? value : null;
}
