/** The reference system: how `<block.path>` and `{{NAME}}` in authored text become addresses, and addresses values. */
export { bindCode, bindExpression, type BoundCode } from './bind.ts';
export { compileCode, compileExpression } from './code.ts';
export type { Finding, Place } from './finding.ts';
export { envNamesIn, referencesIn } from './inventory.ts';
export type {
  BlockReference,
  ContainerReference,
  ContainerValues,
  Lookup,
  ResultsReference,
} from './lookup.ts';
export { buildNames, normalizeName, type NamedBlock, type NamedVariable, type NameTable } from './names.ts';
export type { TemplateContext } from './reading.ts';
export { resolveReference, resolveTemplate } from './resolve.ts';
export { compileTemplate, singleReference } from './text.ts';
