import type { Json } from '@heddle/core/blocks';
import { parseIfJson } from '@heddle/core/fields';
import { types } from 'pg';

type Parser = (text: string) => Json;

/** Parsers of types whose values are not strings in JSON, by `pg_type.oid`. */
const PARSERS: { readonly [oid: number]: Parser } = {
  16: (text) => text === 't',
  20: parseNumber,
  21: parseNumber,
  23: parseNumber,
  26: parseNumber,
  700: parseNumber,
  701: parseNumber,
  114: parseIfJson,
  3802: parseIfJson,
};
/** The element type of each array type whose values are parsed. */
const ELEMENT_TYPES: { readonly [oid: number]: number } = {
  1000: 16,
  1016: 20,
  1005: 21,
  1007: 23,
  1021: 700,
  1022: 701,
  199: 114,
  3807: 3802,
  1009: 25,
  1015: 1043,
  1231: 1700,
  2951: 2950,
  1115: 1114,
  1185: 1184,
  1182: 1082,
};
/** Parses the text of an array into an array of strings. */
const parseArray = types.getTypeParser(1009 as never, 'text') as (text: string) => unknown;

/** Returns the number; the unchanged text if a JSON number cannot represent it exactly. */
function parseNumber(text: string): Json {
  const value = Number(text);
  return Number.isFinite(value) && (Number.isSafeInteger(value) || !/^-?\d+$/.test(text)) ? value : text;
}

/** Returns the parser of a type. Values of types without one stay strings: dates, exact decimals, bytes. */
export function parserOf(oid: number): Parser {
  const elementOid = ELEMENT_TYPES[oid];
  if (elementOid === undefined) return PARSERS[oid] ?? ((text) => text);
  const parse = PARSERS[elementOid] ?? ((text) => text);
  return (text) => parseItems(parseArray(text), parse);
}

function parseItems(value: unknown, parse: Parser): Json {
  if (Array.isArray(value)) return value.map((item) => parseItems(item, parse));
  return typeof value === 'string' ? parse(value) : null;
}

/** Returns a value in the form that pg accepts as a parameter. */
export function parameterOf(value: Json): unknown {
  // pg converts a list to a PostgreSQL array, and the objects in it to JSON.
  return value !== null && typeof value === 'object' && !Array.isArray(value) ? JSON.stringify(value) : value;
}
