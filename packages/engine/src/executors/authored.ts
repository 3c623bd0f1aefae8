import type { Json, Template } from '@heddle/core/blocks';

/** Returns the authored value of a field, with references and placeholders as unresolved text. */
export function authoredValue(template: Template | undefined): Json | undefined {
  if (template === undefined) return undefined;
  switch (template.kind) {
    case 'literal':
      return template.value;
    case 'text':
      return template.parts.map((part) => textOf(part)).join('');
    case 'list':
      return template.items.map((item) => authoredValue(item) ?? null);
    case 'object':
      return Object.fromEntries(template.entries.map(([key, value]) => [key, authoredValue(value) ?? null]));
  }
}

function textOf(part: Extract<Template, { kind: 'text' }>['parts'][number]): string {
  if (typeof part === 'string') return part;
  return 'ref' in part ? part.ref.text : part.text;
}
