import type { BlockContext, BlockExecutor, Json, JsonObject } from '@heddle/core/blocks';
import { checkHeaders } from './header-rules.ts';
import { buildObject } from './response-builder.ts';
import { asPairs, asText } from './values.ts';

const DEFAULT_HEADERS: JsonObject = { 'Content-Type': 'application/json' };

/** Creates the response of the run: output `{data, status, headers}`. */
export const responseExecutor: BlockExecutor = {
  types: ['response'],
  class: 'compute',
  execute: (context) => ({ output: respond(context) }),
};

function respond(context: BlockContext): JsonObject {
  const headers = asPairs(context.field('headers'));
  if (headers === undefined) return errorResponse('The headers of the response are not a table.');
  checkHeaders(headers, 'response');
  const data = dataOf(context);
  if (data === undefined) return errorResponse('The fields of the response are not a list.');
  return {
    data,
    status: statusOf(context.field('status')),
    headers: { ...DEFAULT_HEADERS, ...Object.fromEntries(headers) },
  };
}

/** Returns the response for invalid fields: the caller sees the error, and the block does not fail. */
function errorResponse(message: string): JsonObject {
  return {
    data: { error: 'The response could not be created', message },
    status: 500,
    headers: { ...DEFAULT_HEADERS },
  };
}

/** Returns the data; undefined if the builder's entries are not a list. */
function dataOf(context: BlockContext): Json | undefined {
  if (asText(context.field('dataMode')) === 'json') return jsonData(context);
  const entries = context.field('builderData');
  if (isEmpty(entries)) return {};
  return Array.isArray(entries) ? buildObject(entries) : undefined;
}

/** Returns the data in JSON mode: null for a reference to null, an empty object for a field without a value. */
function jsonData(context: BlockContext): Json {
  const data = context.field('data');
  const dataTemplate = context.block.params['data'];
  if (data === null && dataTemplate?.kind === 'text') return null;
  return isEmpty(data) ? {} : data;
}

function isEmpty(value: Json | undefined): value is undefined | null | '' {
  return value === undefined || value === null || value === '';
}

function statusOf(value: Json | undefined): number {
  const text = asText(value).trim();
  const status = text === '' ? 200 : Number(text);
  return Number.isInteger(status) && status >= 100 && status <= 599 ? status : 200;
}
