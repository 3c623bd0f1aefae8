import type { Diagnostic, JsonObject } from '@heddle/core';
import type { LintReport } from '../draft-schemas.ts';
import { textOr } from '../edit/draft-editor.ts';
import type { Graph } from '../graph.ts';
import { refOf, textOrNull } from './block-ref.ts';
import type { Compared } from './compared.ts';
import { MAX_LISTED } from './limits.ts';
import type { MissingField } from './required-fields.ts';
import { emptyOutgoingPorts, endsOf } from './wiring.ts';

type Check = LintReport['checks'][number];

/** References that have no value when the block runs. */
const UNRESOLVED = new Set([
  'REFERENCE_UNKNOWN_BLOCK',
  'REFERENCE_UNKNOWN_VARIABLE',
  'REFERENCE_INVALID',
  'REFERENCE_NEVER_RAN',
  'REFERENCE_UNDECLARED_OUTPUT',
]);
const FIELDS = new Set(['FIELD_REQUIRED', 'FIELD_EMPTY']);
const CODE = new Set(['SYNTAX_INVALID']);
const PORTS = new Set(['PORT_UNKNOWN']);
const TARGETS = new Set(['EDGE_TO_NOWHERE', 'EDGE_TO_SELF', 'EDGE_ACROSS_SCOPES']);
/** Errors with which the draft cannot be read, so that nothing else was checked. */
const UNREADABLE = new Set([
  'INPUT_SHAPE',
  'INPUT_TOO_DEEP',
  'INPUT_TOO_LARGE',
  'KEY_FORBIDDEN',
  'BLOCK_ID_MISMATCH',
]);

/** The findings about a draft. */
export interface Findings {
  /** The diagnostics of parsing and checking. */
  diagnostics: readonly Diagnostic[];
  missing: readonly MissingField[];
  /** References to resources that the workspace does not have. */
  resources: LintReport['unresolvedReferences'];
  compared: Compared;
}

/** Returns the report about a draft. */
export function lintReport(graph: Graph, findings: Findings): LintReport {
  const { diagnostics, missing, resources, compared } = findings;
  const of = (codes: ReadonlySet<string>): Diagnostic[] => diagnostics.filter(({ code }) => codes.has(code));
  const outputs = of(UNRESOLVED).map((each) => ({
    ...refOf(graph, each.blockId ?? ''),
    field: fieldOf(each),
    value: /<[^>]+>/.exec(each.message)?.[0] ?? '',
    kind: 'block-output' as const,
    reason: each.message,
  }));
  return {
    checks: checksOf(diagnostics, compared),
    ...endsOf(graph),
    emptyOutgoingPorts: emptyOutgoingPorts(graph),
    ...edgeIssues(graph, of),
    fieldIssues: fieldIssues(graph, [
      ...of(FIELDS).map((each) => ({ blockId: each.blockId ?? '', field: fieldOf(each) })),
      ...missing,
    ]),
    unresolvedReferences: [...outputs, ...resources].slice(0, MAX_LISTED),
    codeIssues: of(CODE).map((each) => ({
      ...refOf(graph, each.blockId ?? ''),
      field: fieldOf(each),
      language: 'javascript' as const,
      message: each.message,
      line: each.line ?? null,
      column: each.column ?? null,
    })),
    tableFieldIssues: [],
    diagnostics: diagnostics.map(({ code, severity, blockId, path, message, hint }) => ({
      ...{ code, severity, path, message, hint },
      blockId: blockId ?? null,
    })),
    notes: [
      'A draft with problems is saved. Only a draft without errors can be deployed.',
      `emptyOutgoingPorts, unresolvedReferences and removedBindings have at most ${MAX_LISTED} items each.`,
    ],
  };
}

type Selected = (codes: ReadonlySet<string>) => Diagnostic[];

/** Returns edges from ports that do not exist, and to blocks where they cannot end. */
function edgeIssues(
  graph: Graph,
  of: Selected,
): Pick<LintReport, 'invalidBranchPorts' | 'invalidConnectionTargets'> {
  return {
    invalidBranchPorts: of(PORTS).map((each) => ({
      ...refOf(graph, each.blockId ?? ''),
      sourceHandle: textOrNull(edgeOf(graph, each)['sourceHandle']),
      reason: each.message,
    })),
    invalidConnectionTargets: of(TARGETS).map((each) => {
      const edge = edgeOf(graph, each);
      const sourceBlockId = textOr(edge['source']);
      return {
        sourceBlockId,
        sourceBlockName: refOf(graph, sourceBlockId).blockName,
        sourceHandle: textOrNull(edge['sourceHandle']),
        targetBlockId: textOr(edge['target']),
        reason: each.message,
      };
    }),
  };
}

/** Returns the empty fields by block. No type of blocks has a field in two modes, so no value belongs to an inactive mode. */
function fieldIssues(graph: Graph, missing: readonly MissingField[]): LintReport['fieldIssues'] {
  return [...Map.groupBy(missing, ({ blockId }) => blockId)].map(([blockId, issues]) => ({
    ...refOf(graph, blockId),
    missingRequiredFields: [...new Set(issues.map(({ field }) => field))],
    inactiveModeValues: [],
  }));
}

/** Returns the checked and the unchecked aspects of the draft. */
function checksOf(diagnostics: readonly Diagnostic[], compared: Compared): Check[] {
  const isUnread = diagnostics.some(({ code, severity }) => severity === 'error' && UNREADABLE.has(code));
  const isCut = diagnostics.some(({ code }) => code === 'DIAGNOSTICS_MORE');
  const compiled = (name: string, detail: string, status: Check['status'] = 'complete'): Check => {
    if (isUnread) return { name, status: 'skipped', detail: 'The draft cannot be read: see diagnostics.' };
    if (!isCut) return { name, status, detail };
    return { name, status: 'partial', detail: `${detail} There are more problems than are listed.` };
  };
  return [
    compiled('graph', 'Checked as for a deployment.'),
    compiled(
      'fields',
      `Required fields are checked${compared.requiredFields ? '' : ' of some types'}. No type has fields in two modes.`,
      compared.requiredFields ? 'complete' : 'partial',
    ),
    compiled('block-output-references', 'Checked as for a deployment.'),
    compiled('branch-output-references', 'Checked as for a deployment.'),
    compiled(
      'embedded-code-syntax',
      'JavaScript is parsed. In other languages only the references are checked.',
      'partial',
    ),
    resourceCheck(compared),
    compared.tools
      ? check('agent-tool-references', 'complete', 'Tools are compared with the registered ones.')
      : check('agent-tool-references', 'skipped', 'This service does not know the tools of its agents.'),
    check('table-fields', 'skipped', 'This service has no tables.'),
    check('runtime-execution', 'skipped', 'Nothing is run.'),
  ];
}

function resourceCheck({ names, sandboxes }: Compared): Check {
  const known = [
    'workflows',
    'skills',
    ...(sandboxes ? ['sandboxes'] : []),
    ...(names ? ['names in {{ }}'] : []),
  ];
  const detail = `Compared with the workspace: ${known.join(', ')}. Ids of other resources are not looked up.`;
  return check('credential-resource-references', 'partial', detail);
}

function check(name: string, status: Check['status'], detail: string): Check {
  return { name, status, detail };
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
