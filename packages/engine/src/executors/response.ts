import type { BlockContext, BlockExecutor, Json, JsonObject } from '@heddle/core/blocks';
import { buildObject } from './response-builder.ts';
import { asPairs, asText, parseJson } from './values.ts';

const DEFAULT_HEADERS: JsonObject = { 'Content-Type': 'application/json' };

/** Makes the run's answer: output `{data, status, headers}`. */
export const responseExecutor: BlockExecutor = {
  types: ['response'],
  class: 'compute',
  execute: (context) => ({ output: respond(context) }),
};

function respond(context: BlockContext): JsonObject {
  const headers = asPairs(context.field('headers'));
  if (headers === undefined) return refused('The headers of the response are no table.');
  const data = dataOf(context);
  if (data === undefined) return refused('The fields of the response are no list.');
  return {
    data,
    status: statusOf(context.field('status')),
    headers: { ...DEFAULT_HEADERS, ...Object.fromEntries(headers) },
  };
}

/** What a response that cannot be made answers: the caller sees the fault, the run goes on to its end. */
function refused(message: string): JsonObject {
  return {
    data: { error: 'The response could not be made', message },
    status: 500,
    headers: { ...DEFAULT_HEADERS },
  };
}

/** The data; undefined when the builder's entries are no list. */
function dataOf(context: BlockContext): Json | undefined {
  return asText(context.field('dataMode')) === 'json'
    ? jsonData(context.field('data'))
    : builtData(context.field('builderData'));
}

/** Parsed where it is JSON, else the text as it came out. */
function jsonData(data: Json | undefined): Json {
  if (data === undefined || data === null || data === '') return {};
  return typeof data === 'string' ? (parseJson(data) ?? data) : data;
}

function builtData(entries: Json | undefined): Json | undefined {
  if (entries === undefined || entries === null || entries === '') return {};
  const list = typeof entries === 'string' ? parseJson(entries) : entries;
  return Array.isArray(list) ? buildObject(list) : undefined;
}

function statusOf(value: Json | undefined): number {
  const text = asText(value).trim();
  const status = text === '' ? 200 : Number(text);
  return Number.isInteger(status) && status >= 100 && status <= 599 ? status : 200;
}
