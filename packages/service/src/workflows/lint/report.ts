import type { Diagnostic, JsonObject } from '@heddle/core';
import type { LintReport } from '../draft-schemas.ts';
import { stringOrDefault } from '../edit/draft-editor.ts';
import type { Graph } from '../graph.ts';
import { MAX_LISTED_ITEMS, blockRefOf, stringOrNull } from './context.ts';
import type { LintContext } from './context.ts';
import type { MissingField } from './required-fields.ts';
import { emptyOutgoingPorts, sourcesAndSinks } from './wiring.ts';

type Check = LintReport['checks'][number];

/** Problems of references that have no value when the block runs. */
const REFERENCE_CODES = new Set([
  'REFERENCE_UNKNOWN_BLOCK',
  'REFERENCE_UNKNOWN_VARIABLE',
  'REFERENCE_INVALID',
  'REFERENCE_NEVER_RAN',
  'REFERENCE_UNDECLARED_OUTPUT',
]);
const FIELD_CODES = new Set(['FIELD_REQUIRED', 'FIELD_EMPTY']);
const SYNTAX_CODES = new Set(['SYNTAX_INVALID']);
const PORT_CODES = new Set(['PORT_UNKNOWN']);
const TARGET_CODES = new Set(['EDGE_TO_NOWHERE', 'EDGE_TO_SELF', 'EDGE_ACROSS_SCOPES']);
/** Errors that make the draft unreadable, so that nothing else is checked. */
const UNREADABLE_CODES = new Set([
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
  emptyFields: readonly MissingField[];
  /** References to resources that the workspace does not have. */
  missingResources: LintReport['unresolvedReferences'];
  context: LintContext;
}

/** Returns the report about a draft. */
export function createLintReport(graph: Graph, findings: Findings): LintReport {
  const { diagnostics, emptyFields, missingResources, context } = findings;
  const diagnosticsWithCodes: CodeFilter = (codes) => diagnostics.filter(({ code }) => codes.has(code));
  const unresolvedOutputs = diagnosticsWithCodes(REFERENCE_CODES).map((diagnostic) => ({
    ...blockRefOf(graph, diagnostic.blockId ?? ''),
    field: fieldOf(diagnostic),
    value: /<[^>]+>/.exec(diagnostic.message)?.[0] ?? '',
    kind: 'block-output' as const,
    reason: diagnostic.message,
  }));
  return {
    checks: checksOf(diagnostics, context),
    ...sourcesAndSinks(graph),
    emptyOutgoingPorts: emptyOutgoingPorts(graph),
    ...edgeIssues(graph, diagnosticsWithCodes),
    fieldIssues: fieldIssues(graph, [
      ...diagnosticsWithCodes(FIELD_CODES).map((diagnostic) => ({
        blockId: diagnostic.blockId ?? '',
        field: fieldOf(diagnostic),
      })),
      ...emptyFields,
    ]),
    unresolvedReferences: [...unresolvedOutputs, ...missingResources].slice(0, MAX_LISTED_ITEMS),
    codeIssues: diagnosticsWithCodes(SYNTAX_CODES).map((diagnostic) => ({
      ...blockRefOf(graph, diagnostic.blockId ?? ''),
      field: fieldOf(diagnostic),
      language: 'javascript' as const,
      message: diagnostic.message,
      line: diagnostic.line ?? null,
      column: diagnostic.column ?? null,
    })),
    tableFieldIssues: [],
    diagnostics: diagnostics.map(({ code, severity, blockId, path, message, hint }) => ({
      ...{ code, severity, path, message, hint },
      blockId: blockId ?? null,
    })),
    notes: [
      'A draft with problems is saved. Only a draft without errors can be deployed.',
      `emptyOutgoingPorts, unresolvedReferences and removedBindings have at most ${MAX_LISTED_ITEMS} items each.`,
    ],
  };
}

/** Returns the diagnostics with these codes. */
type CodeFilter = (codes: ReadonlySet<string>) => Diagnostic[];

/** Returns the edges from ports that do not exist, and the edges whose target is not allowed. */
function edgeIssues(
  graph: Graph,
  diagnosticsWithCodes: CodeFilter,
): Pick<LintReport, 'invalidBranchPorts' | 'invalidConnectionTargets'> {
  return {
    invalidBranchPorts: diagnosticsWithCodes(PORT_CODES).map((diagnostic) => ({
      ...blockRefOf(graph, diagnostic.blockId ?? ''),
      sourceHandle: stringOrNull(edgeOf(graph, diagnostic)['sourceHandle']),
      reason: diagnostic.message,
    })),
    invalidConnectionTargets: diagnosticsWithCodes(TARGET_CODES).map((diagnostic) => {
      const edge = edgeOf(graph, diagnostic);
      const sourceBlockId = stringOrDefault(edge['source']);
      return {
        sourceBlockId,
        sourceBlockName: blockRefOf(graph, sourceBlockId).blockName,
        sourceHandle: stringOrNull(edge['sourceHandle']),
        targetBlockId: stringOrDefault(edge['target']),
        reason: diagnostic.message,
      };
    }),
  };
}

/** Returns the empty fields by block. No block type has fields in two modes, so no value is in an inactive mode. */
function fieldIssues(graph: Graph, emptyFields: readonly MissingField[]): LintReport['fieldIssues'] {
  return [...Map.groupBy(emptyFields, ({ blockId }) => blockId)].map(([blockId, issues]) => ({
    ...blockRefOf(graph, blockId),
    missingRequiredFields: [...new Set(issues.map(({ field }) => field))],
    inactiveModeValues: [],
  }));
}

/** Returns the checked and the unchecked aspects of the draft. */
function checksOf(diagnostics: readonly Diagnostic[], context: LintContext): Check[] {
  const isUnreadable = diagnostics.some(
    ({ code, severity }) => severity === 'error' && UNREADABLE_CODES.has(code),
  );
  const isTruncated = diagnostics.some(({ code }) => code === 'DIAGNOSTICS_MORE');
  const compilerCheck = (name: string, detail: string, status: Check['status'] = 'complete'): Check => {
    if (isUnreadable)
      return { name, status: 'skipped', detail: 'The draft cannot be read: see diagnostics.' };
    if (!isTruncated) return { name, status, detail };
    return { name, status: 'partial', detail: `${detail} There are more problems than are listed.` };
  };
  return [
    compilerCheck('graph', 'Checked as for a deployment.'),
    compilerCheck(
      'fields',
      `Required fields are checked${context.requiredFields ? '' : ' for some types'}. No type has fields in two modes.`,
      context.requiredFields ? 'complete' : 'partial',
    ),
    compilerCheck('block-output-references', 'Checked as for a deployment.'),
    compilerCheck('branch-output-references', 'Checked as for a deployment.'),
    compilerCheck(
      'embedded-code-syntax',
      'JavaScript is parsed. In other languages only the references are checked.',
      'partial',
    ),
    resourceCheck(context),
    context.tools
      ? createCheck('agent-tool-references', 'complete', 'Tools are compared with the registered ones.')
      : createCheck(
          'agent-tool-references',
          'skipped',
          'This service does not know the tools of its agents.',
        ),
    createCheck('table-fields', 'skipped', 'This service has no tables.'),
    createCheck('runtime-execution', 'skipped', 'Nothing is run.'),
  ];
}

function resourceCheck({ environmentNames, hasSandboxes }: LintContext): Check {
  const kinds = [
    'workflows',
    'skills',
    ...(hasSandboxes ? ['sandboxes'] : []),
    ...(environmentNames ? ['names in {{ }}'] : []),
  ];
  const detail = `Compared with the workspace: ${kinds.join(', ')}. Ids of other resources are not looked up.`;
  return createCheck('credential-resource-references', 'partial', detail);
}

function createCheck(name: string, status: Check['status'], detail: string): Check {
  return { name, status, detail };
}

function edgeOf(graph: Graph, { path }: Diagnostic): JsonObject {
  const [root, index] = path;
  return (root === 'edges' && typeof index === 'number' ? graph.edges[index] : undefined) ?? {};
}

/** Returns the id of the sub-block of a diagnostic. */
function fieldOf({ path }: Diagnostic): string {
  const index = path.indexOf('subBlocks');
  return String(index < 0 ? (path.at(-1) ?? '') : (path[index + 1] ?? ''));
}
