/** A field of the form of a pause point. */
export interface PauseField {
  name: string;
  type: string;
  description: string;
  /** The initial text of the field. */
  initial: string;
}

/** Returns the fields of an input format. The format is data of a workflow, so any part of it may be missing. */
export function fieldsOf(format: unknown): PauseField[] {
  const rows: unknown[] = Array.isArray(format) ? format : [];
  return rows.flatMap((row) => {
    if (typeof row !== 'object' || row === null) return [];
    const { name, type, description, value } = row as { [key: string]: unknown };
    if (typeof name !== 'string' || name === '') return [];
    return [
      {
        name,
        type: typeof type === 'string' ? type : 'string',
        description: typeof description === 'string' ? description : '',
        initial: typeof value === 'string' ? value : value == null ? '' : JSON.stringify(value),
      },
    ];
  });
}

/** Returns the answer of a form without empty fields. Throws an Error that names a field whose text is not JSON. */
export function answerOf(
  fields: readonly PauseField[],
  values: { readonly [name: string]: string },
): { [name: string]: unknown } {
  return Object.fromEntries(
    fields.flatMap(({ name, type, initial }) => {
      const text = values[name] ?? initial;
      return text === '' ? [] : [[name, valueOf(name, type, text)]];
    }),
  );
}

function valueOf(name: string, type: string, text: string): unknown {
  if (type === 'number') return Number(text);
  if (type === 'boolean') return text === 'true';
  if (type !== 'object' && type !== 'array') return text;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Error(`${name} is not JSON.`);
  }
}
