import type { CodeTemplate, ExpressionTemplate, Reference, Template, TextPart } from './template.ts';

/** Every reference in it, in order, repetitions included. */
export function referencesIn(compiled: Template | CodeTemplate | ExpressionTemplate): Reference[] {
  return partsIn(compiled).flatMap((part) => (typeof part !== 'string' && 'ref' in part ? [part.ref] : []));
}

/** Every name of an environment placeholder in it, in order, each once. */
export function envNamesIn(compiled: Template | CodeTemplate | ExpressionTemplate): string[] {
  const names = partsIn(compiled).flatMap((part) =>
    typeof part !== 'string' && 'env' in part ? [part.env] : [],
  );
  return [...new Set(names)];
}

type Part = TextPart | CodeTemplate['bindings'][number];

function partsIn(compiled: Template | CodeTemplate | ExpressionTemplate): Part[] {
  if ('bindings' in compiled) return compiled.bindings;
  switch (compiled.kind) {
    case 'literal':
      return [];
    case 'text':
      return compiled.parts;
    case 'list':
      return compiled.items.flatMap(partsIn);
    case 'object':
      return compiled.entries.flatMap(([, item]) => partsIn(item));
  }
}
