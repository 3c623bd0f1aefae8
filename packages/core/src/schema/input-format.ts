import { isJsonObject, getOwn, parseIfJson } from '../json.ts';
import type { Json } from '../json.ts';

/** A declared input of a start block or a pause. */
export interface InputField {
  name: string;
  type: string;
  /** Default; undefined if there is none. */
  value: Json | undefined;
  required: boolean;
  description: string | undefined;
  /** Position in the stored list. */
  index: number;
}

/** Returns the inputs that an `inputFormat` value, or its JSON text, declares. Omits rows without a name. */
export function inputFields(format: Json | undefined): InputField[] {
  const rows = parseIfJson(format ?? null);
  if (!Array.isArray(rows)) return [];
  return rows.flatMap((row, index): InputField[] => {
    const name = isJsonObject(row) ? getOwn(row, 'name') : undefined;
    if (!isJsonObject(row) || typeof name !== 'string' || name.trim() === '') return [];
    const type = getOwn(row, 'type');
    const description = getOwn(row, 'description');
    return [
      {
        name: name.trim(),
        type: typeof type === 'string' ? type : 'string',
        value: getOwn(row, 'value') ?? undefined,
        required: getOwn(row, 'required') === true,
        description: typeof description === 'string' && description !== '' ? description : undefined,
        index,
      },
    ];
  });
}
