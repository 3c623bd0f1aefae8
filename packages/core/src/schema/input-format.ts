import { isJsonObject, own } from '../json.ts';
import type { Json } from '../json.ts';
import { readJsonText } from './read-json-text.ts';
import type { Block } from './workflow.ts';

/** A declared field of a start or a pause. */
export interface InputField {
  name: string;
  type: string;
  /** Position in the stored list. */
  index: number;
}

/** Returns the named fields of a block's `inputFormat`, which may be stored as JSON text. */
export function inputFields(block: Block): InputField[] {
  const stored = own(block.fields, 'inputFormat');
  const list: Json | undefined = typeof stored === 'string' ? readJsonText(stored).value : stored;
  if (!Array.isArray(list)) return [];
  return list.flatMap((field, index): InputField[] => {
    const name = isJsonObject(field) ? own(field, 'name') : undefined;
    if (!isJsonObject(field) || typeof name !== 'string' || name.trim() === '') return [];
    const type = own(field, 'type');
    return [{ name, type: typeof type === 'string' ? type : 'string', index }];
  });
}
