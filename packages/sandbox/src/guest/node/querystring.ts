type Values = Readonly<Record<string, unknown>>;

const textOf = (value: unknown): string =>
  ['string', 'number', 'bigint', 'boolean'].includes(typeof value) ? String(value) : '';

const escape = (text: string): string => encodeURIComponent(text);

function unescape(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The fields of a query; those that come more than once are lists. */
function parse(query: string, separator = '&', equals = '='): Record<string, string | string[]> {
  const values: Record<string, string | string[]> = { __proto__: null } as never;
  for (const pair of query === '' ? [] : query.split(separator)) {
    const at = pair.indexOf(equals);
    const [name, value] = (at < 0 ? [pair, ''] : [pair.slice(0, at), pair.slice(at + equals.length)]).map(
      (part) => unescape((part as string).replaceAll('+', ' ')),
    ) as [string, string];
    const known = values[name];
    values[name] = known === undefined ? value : [...(Array.isArray(known) ? known : [known]), value];
  }
  return values;
}

function stringify(values: Values, separator = '&', equals = '='): string {
  return Object.entries(values)
    .flatMap(([name, value]) =>
      (Array.isArray(value) ? value : [value]).map((item) => escape(name) + equals + escape(textOf(item))),
    )
    .join(separator);
}

export const querystring = { escape, unescape, parse, stringify, decode: parse, encode: stringify };
