import { configurationOf, dependentChanges } from './configuration.ts';
import type { BlockTargets, ConfigurationField, DependentValue } from './configuration.ts';
import { fieldsOf, withFieldValues } from './graph.ts';
import type { Field, PortableGraph } from './graph.ts';
import { badRequest } from '@heddle/api/areas';
import { requirePositionsWithinLimit, Instructions, occurrenceKey, occurrenceName } from './instructions.ts';
import type { Binding, Mapping, Target } from './instructions.ts';
import { REFERENCE_KINDS } from './kinds.ts';
import type { KindName, ReferenceField } from './kinds.ts';
import type { Destination, Lookups } from './lookups.ts';
import type { Payload } from './payload.ts';
import { MAX_OCCURRENCES, referencesOf, referenceFieldAt } from './references.ts';
import type { Occurrence } from './references.ts';
import { rewriteReferences } from './rewrite.ts';
import type { Assignment } from './rewrite.ts';

/** A reference of an import with its target. */
export interface PlannedBinding {
  kind: KindName;
  sourceId: string;
  /** Null: it is cleared, or unresolved. */
  targetId: string | null;
  required: boolean;
  occurrence: Occurrence;
}

/** Which API call lists possible targets of a kind. */
export interface LookupHint {
  kind: KindName;
  command: string;
  humanAuthorizationMayBeRequired: boolean;
}

/** The effects of an import. */
export interface ImportPlan {
  /** The graph with the targets. Its blocks, edges and variables have the ids of the file. */
  graph: PortableGraph;
  bindings: PlannedBinding[];
  unresolvedBindings: PlannedBinding[];
  configuration: ConfigurationField[];
  unresolvedConfiguration: ConfigurationField[];
  discovery: LookupHint[];
  /** Required references that are cleared because this installation has no resources of their kind. */
  clearedBindings: PlannedBinding[];
}

/** The instructions of a caller for an import. */
export interface ImportOptions {
  mappings?: readonly Mapping[] | undefined;
  bindings?: readonly Binding[] | undefined;
  dependentValues?: readonly DependentValue[] | undefined;
}

interface Reference {
  kind: KindName;
  sourceId: string;
  required: boolean;
  occurrence: Occurrence;
}

/**
 * Returns the plan of an import. A reference gets the target that the caller names, or is kept if the workspace has
 * its id; a credential is never taken from a file. Throws 400 for instructions that contradict each other or the file.
 */
export async function planImport(
  { graph, manifest }: Pick<Payload, 'graph' | 'manifest'>,
  { mappings = [], bindings = [], dependentValues }: ImportOptions,
  { destination, lookups }: { destination: Destination; lookups: Lookups },
): Promise<ImportPlan> {
  const instructions = new Instructions(mappings, bindings);
  const references = [...referencesIn(graph), ...referencesClearedByExport({ graph, manifest })];
  const existingIdsByKind = await findExistingIds(
    [...references.map(({ kind, sourceId: id }) => ({ kind, id })), ...instructions.targets()],
    { destination, lookups },
  );
  const resolvedReferences = references.flatMap((reference) =>
    resolve(reference, instructions, existingIdsByKind),
  );
  resolvedReferences.push(...resolveBindings(graph, instructions.unusedBindings(), existingIdsByKind));
  if (resolvedReferences.length > MAX_OCCURRENCES)
    throw badRequest(`An import has at most ${MAX_OCCURRENCES} references: the file has more`);
  const targets = targetsByBlock(resolvedReferences);
  const targetsOf = (blockId: string): BlockTargets | undefined => targets.get(blockId);
  const rewrittenGraph = rewriteReferences(graph, resolvedReferences.flatMap(assignmentOf));
  const changes = dependentChanges(rewrittenGraph, dependentValues, targetsOf);
  const importedGraph = withFieldValues(rewrittenGraph, changes);
  const isUnresolved = ({ reference, state }: ResolvedReference): boolean =>
    state === 'unresolved' || (state === 'cleared' && reference.required && reference.kind in lookups);
  const unresolvedReferences = resolvedReferences.filter(isUnresolved);
  const configuration = configurationOf(importedGraph, targetsOf).slice(0, MAX_OCCURRENCES);
  return {
    graph: importedGraph,
    bindings: resolvedReferences.map(toPlannedBinding),
    unresolvedBindings: unresolvedReferences.map(toPlannedBinding),
    configuration,
    unresolvedConfiguration: configuration.filter(({ required, configured }) => required && !configured),
    discovery: lookupHintsOf(unresolvedReferences, lookups),
    clearedBindings: resolvedReferences
      .filter(
        (resolvedReference) =>
          resolvedReference.state === 'cleared' &&
          resolvedReference.reference.required &&
          !isUnresolved(resolvedReference),
      )
      .map(toPlannedBinding),
  };
}

interface ResolvedReference {
  reference: Reference;
  target: string | null;
  state: 'bound' | 'cleared' | 'unresolved';
}

function toPlannedBinding({ reference, target }: ResolvedReference): PlannedBinding {
  const { kind, sourceId, required, occurrence } = reference;
  return { kind, sourceId, targetId: target, required, occurrence };
}

/** Returns the references of the graph. Throws 400 for too many. */
function referencesIn(graph: PortableGraph): Reference[] {
  const references: Reference[] = [];
  for (const { kind, sourceId, required, occurrence } of referencesOf(graph, REFERENCE_KINDS)) {
    references.push({ kind, sourceId, required, occurrence });
    if (references.length > MAX_OCCURRENCES)
      throw badRequest(`An import has at most ${MAX_OCCURRENCES} references: the file has more`);
  }
  requirePositionsWithinLimit(references.map(({ occurrence }) => occurrence));
  return references;
}

/**
 * Returns the references that the manifest names in fields that the export has cleared. A manifest may be wrong: fields
 * that the graph does not have, or that hold ids of another kind, are skipped.
 */
export function referencesClearedByExport({
  graph,
  manifest,
}: Pick<Payload, 'graph' | 'manifest'>): Reference[] {
  if (!manifest) return [];
  requirePositionsWithinLimit(manifest.references.flatMap(({ occurrences }) => occurrences));
  const referencedKeys = new Set(referencesIn(graph).map(({ occurrence }) => occurrenceKey(occurrence)));
  const fields = fieldsByKey(graph);
  return manifest.references.flatMap(({ kind, sourceId, occurrences }) =>
    occurrences.flatMap((occurrence): Reference[] => {
      if (kind === 'env-var' || referencedKeys.has(occurrenceKey(occurrence))) return [];
      const referenceField = referenceFieldOf(fields, occurrence, kind);
      return referenceField
        ? [{ kind, sourceId, required: isRequired(kind, referenceField), occurrence }]
        : [];
    }),
  );
}

function fieldsByKey(graph: PortableGraph): Map<string, Field> {
  return new Map([...fieldsOf(graph)].map((field) => [JSON.stringify([field.blockId, field.key]), field]));
}

/** Returns the field of an occurrence if it holds ids of the kind. */
function referenceFieldOf(
  fields: ReadonlyMap<string, Field>,
  occurrence: Occurrence,
  kind: KindName,
): ReferenceField | undefined {
  const field = fields.get(JSON.stringify([occurrence.blockId, occurrence.subBlockKey]));
  if (!field || occurrence.encoding === 'environment') return undefined;
  const referenceField = referenceFieldAt(field, occurrence.valuePath);
  return referenceField && kindOf(referenceField)?.kind === kind ? referenceField : undefined;
}

function kindOf(referenceField: ReferenceField): (typeof REFERENCE_KINDS)[number] | undefined {
  return REFERENCE_KINDS.find(({ accepts }) => accepts(referenceField));
}

function isRequired(kind: KindName, referenceField: ReferenceField): boolean {
  return (
    REFERENCE_KINDS.find((referenceKind) => referenceKind.kind === kind)?.isRequired?.(referenceField) ??
    false
  );
}

type ExistingIds = ReadonlyMap<KindName, ReadonlySet<string>>;

async function findExistingIds(
  references: readonly { kind: KindName; id: string }[],
  { destination, lookups }: { destination: Destination; lookups: Lookups },
): Promise<ExistingIds> {
  const existingIdsByKind = new Map<KindName, ReadonlySet<string>>();
  for (const [kind, ids] of Map.groupBy(references, (reference) => reference.kind)) {
    const uniqueIds = [...new Set(ids.map(({ id }) => id))];
    existingIdsByKind.set(kind, (await lookups[kind]?.(uniqueIds, destination)) ?? new Set());
  }
  return existingIdsByKind;
}

/** Resolves a reference. Returns one result for each target, with all its positions. */
function resolve(
  reference: Reference,
  instructions: Instructions,
  existingIdsByKind: ExistingIds,
): ResolvedReference[] {
  const { occurrence } = reference;
  const { positions } = occurrence;
  const targetAt = instructions.resolverFor(reference);
  if (!positions) return [resolveTo(reference, targetAt(undefined), existingIdsByKind)];
  const positionsByTarget = Map.groupBy(positions, targetAt);
  return [...positionsByTarget].map(([target, targetPositions]) =>
    resolveTo(
      { ...reference, occurrence: { ...occurrence, positions: targetPositions } },
      target,
      existingIdsByKind,
    ),
  );
}

function resolveTo(reference: Reference, target: Target, existingIdsByKind: ExistingIds): ResolvedReference {
  const { kind, sourceId } = reference;
  const exists = (id: string): boolean => existingIdsByKind.get(kind)?.has(id) === true;
  if (target === null) return { reference, target, state: 'cleared' };
  // A file could name any credential that the importing user may use, so credentials are bound only by instructions.
  const id = target ?? (kind === 'credential' ? undefined : sourceId);
  return id !== undefined && exists(id)
    ? { reference, target: id, state: 'bound' }
    : { reference, target: null, state: 'unresolved' };
}

/** Resolves the bindings of fields that are empty in the file. */
function resolveBindings(
  graph: PortableGraph,
  bindings: readonly Binding[],
  existingIdsByKind: ExistingIds,
): ResolvedReference[] {
  if (bindings.length === 0) return [];
  const fields = fieldsByKey(graph);
  return bindings.map(({ kind, targetId, ...occurrence }) => {
    const referenceField = referenceFieldOf(fields, occurrence, kind);
    if (!referenceField) throw badRequest(`${occurrenceName(occurrence)} cannot have a ${kind}`);
    const reference = {
      kind,
      sourceId: targetId ?? '',
      required: isRequired(kind, referenceField),
      occurrence,
    };
    return resolveTo(reference, targetId, existingIdsByKind);
  });
}

/** Returns the assignment of a reference, even if its target is the id in the file: the export may have cleared it. */
function assignmentOf({ reference: { occurrence }, target, state }: ResolvedReference): Assignment[] {
  return state === 'unresolved' ? [] : [{ occurrence, targetId: target }];
}

function targetsByBlock(resolvedReferences: readonly ResolvedReference[]): Map<string, BlockTargets> {
  const targetsByBlockId = new Map<string, { targets: Map<KindName, string>; changedKinds: Set<KindName> }>();
  for (const { reference, target, state } of resolvedReferences) {
    const { blockId } = reference.occurrence;
    const blockTargets = targetsByBlockId.get(blockId) ?? {
      targets: new Map<KindName, string>(),
      changedKinds: new Set<KindName>(),
    };
    targetsByBlockId.set(blockId, blockTargets);
    if (target !== null) blockTargets.targets.set(reference.kind, target);
    if (state !== 'unresolved' && target !== reference.sourceId)
      blockTargets.changedKinds.add(reference.kind);
  }
  return targetsByBlockId;
}

function lookupHintsOf(unresolvedReferences: readonly ResolvedReference[], lookups: Lookups): LookupHint[] {
  const kinds = new Set(unresolvedReferences.map(({ reference }) => reference.kind));
  return REFERENCE_KINDS.filter(({ kind }) => kinds.has(kind) && kind in lookups).map(
    ({ kind, lookupHint }) => ({
      kind,
      ...lookupHint,
    }),
  );
}

/** Returns the graph without the credentials that the file names. */
export function clearCredentials(graph: PortableGraph): PortableGraph {
  const assignments = [...referencesOf(graph, REFERENCE_KINDS)]
    .filter(({ kind }) => kind === 'credential')
    .map(({ occurrence }) => ({ occurrence, targetId: null }));
  return rewriteReferences(graph, assignments);
}

/** Returns whether the plan can be carried out. */
export function isReady({ unresolvedBindings, unresolvedConfiguration }: ImportPlan): boolean {
  return unresolvedBindings.length === 0 && unresolvedConfiguration.length === 0;
}
