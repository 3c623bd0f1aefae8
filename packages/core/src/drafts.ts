import './node-version.ts';

// API for editors of drafts: types and names of blocks, their fields and ports
export { MAX_NESTING } from './graph/containment.ts';
export { branchPorts, createPortResolver } from './graph/ports.ts';
export type { BranchPort, PortResolver, EdgePort } from './graph/ports.ts';
export type { BlockWithFields } from './graph/rows.ts';
export type { TriggerInfo, TriggerProblem } from './plan/check-triggers.ts';
export { isTriggerType, TRIGGER_PRIORITY, typeNames, typeTable } from './plan/types.ts';
export type { BlockTypeInfo, TypeTable } from './plan/types.ts';
export type { HostFeature } from './ports.ts';
export { isReserved, normalizeName } from './refs/names.ts';
export { SimilarNames } from './refs/similar-names.ts';
export { BLOCK_FIELDS } from './schema/block-fields.ts';
