/** Compiling authored text: how `<block.path>` and `{{NAME}}` become addresses. What runs with them is in ../blocks.ts. */
export { compileCode, compileExpression } from './code.ts';
export { buildNames } from './names.ts';
export type { TemplateContext } from './reading.ts';
export { compileTemplate } from './text.ts';
