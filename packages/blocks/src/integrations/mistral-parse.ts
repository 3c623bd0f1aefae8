import type { Json, JsonObject } from '@heddle/core/blocks';
import { isJsonObject } from '@heddle/core/blocks';
import { filesIn } from '@heddle/core/files';
import { ArgumentError } from '../openapi/wire.ts';
import { arg, data, defineIntegration, text } from './integration.ts';
import type { PrepareContext } from './integration.ts';

/** Adds the argument `document`: the URL of the document, or the content of a run file as a data URL. */
async function withDocument(args: JsonObject, context: PrepareContext): Promise<JsonObject> {
  const { fileReference } = args;
  const source: Json = (Array.isArray(fileReference) ? fileReference[0] : fileReference) ?? null;
  if (typeof source === 'string') {
    if (!source.startsWith('https://'))
      throw new ArgumentError('"fileReference" is neither a file nor an https URL');
    return { ...args, document: { type: 'document_url', document_url: source } };
  }
  const [record] = isJsonObject(source) ? filesIn(source) : [];
  const base64 = record && (await context.readFileAsBase64(record));
  if (!record || base64 === undefined) throw new ArgumentError('"fileReference" is not a file of this run');
  const type = /^[\w.+-]+\/[\w.+-]+$/.test(record.type) ? record.type : 'application/pdf';
  const url = `data:${type};base64,${base64}`;
  const document = type.startsWith('image/')
    ? { type: 'image_url', image_url: url }
    : { type: 'document_url', document_url: url };
  return { ...args, document };
}

const parserTool = {
  description: 'Converts a document, such as a PDF, to Markdown.',
  method: 'POST',
  path: '/ocr',
  arguments: {
    fileReference: data(
      { type: ['string', 'object', 'array'] },
      'A run file, or the https URL of a document',
      { required: true, fields: ['fileReference', 'fileUpload', 'filePath'] },
    ),
    pages: data(
      { type: 'array', items: { type: 'integer', minimum: 0 } },
      'Numbers of the pages to convert; the first page is 0. Default: all pages',
    ),
    resultType: text('Has no effect, because the result is always Markdown', {
      schema: { enum: ['markdown', 'text', 'json'] },
    }),
  },
  json: { model: 'mistral-ocr-latest', document: arg('document'), pages: arg('pages') },
  prepare: withDocument,
  ...{ idempotent: true, readOnly: true },
  answer: { output: { pages: 'pages', model: 'model', usage_info: 'usage_info' } },
} as const;

export const integration = defineIntegration({
  service: 'mistral',
  title: 'Mistral OCR',
  docsUrl: 'https://docs.mistral.ai/api/',
  // The same service as the provider of models, so that both share a base URL and a key.
  baseUrl: 'https://api.mistral.ai/v1',
  credential: { type: 'bearer', scopes: [] },
  types: ['mistral_parse', 'mistral_parse_v2', 'mistral_parse_v3'],
  operations: {
    mistral_parser_v3: 'mistral_parser_v3',
    mistral_parser_v2: 'mistral_parser_v3',
    mistral_parser: 'mistral_parser_v3',
  },
  tools: { mistral_parser_v3: parserTool as never },
});
