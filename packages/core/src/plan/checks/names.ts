import type { Block } from '../../schema/workflow.ts';
import { append } from '../../graph/lists.ts';
import type { Lists } from '../../graph/lists.ts';
import { isReserved, normalizeName } from '../../refs/names.ts';
import { diagnostic } from '../codes.ts';
import type { DiagnosticCode } from '../codes.ts';
import type { Compilation } from '../compilation.ts';

/** Names that references cannot use, or cannot tell apart. */
export function checkNames(compilation: Compilation): void {
  const groups: Lists<Block> = new Map();
  for (const { block, enabled } of compilation.structure.places.values()) {
    const normalized = normalizeName(block.name);
    if (isReserved(block.name)) {
      const message = `"${block.name}" is no name for a block: <${normalized}…> means something else in references.`;
      if (enabled) report(compilation, block, { code: 'NAME_RESERVED', message, hint: 'Rename the block.' });
      continue;
    }
    if (normalized === '' || /[<>+*/=!]/.test(normalized)) {
      const message = `The name "${block.name}" cannot be written in a reference.`;
      const hint = 'Use letters, digits, spaces, hyphens or underscores.';
      report(compilation, block, { code: 'NAME_UNUSABLE', message, hint });
    }
    append(groups, normalized, block);
  }
  for (const [normalized, blocks] of groups) checkGroup(compilation, normalized, blocks);
  checkVariables(compilation);
}

function checkGroup(compilation: Compilation, normalized: string, blocks: readonly Block[]): void {
  const winner = compilation.names.blockByName.get(normalized);
  for (const block of blocks) {
    if (!winner || block.id === winner.id) continue;
    const message = `"${block.name}" and "${winner.name}" have one name in references; <${normalized}> means block ${winner.id}.`;
    report(compilation, block, { code: 'NAME_DUPLICATE', message, hint: 'Rename one of them.' });
  }
}

function checkVariables({ workflow, names, found }: Compilation): void {
  for (const { id, name } of workflow.variables) {
    const winner = names.variableByName.get(normalizeName(name));
    if (!winner || winner.id === id) continue;
    const message = `The variables "${name}" and "${winner.name}" have one name in references, which means ${winner.id}.`;
    const path = ['variables', id, 'name'];
    found.push(diagnostic('NAME_DUPLICATE', { path, message, hint: 'Rename one of them.' }));
  }
}

function report(
  { found }: Compilation,
  block: Block,
  { code, ...text }: { code: DiagnosticCode; message: string; hint: string },
): void {
  found.push(diagnostic(code, { blockId: block.id, path: ['blocks', block.id, 'name'], ...text }));
}
