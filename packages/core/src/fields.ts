import './node-version.ts';

// API for fields with structure: JSON text, and templates of lists and objects
export { parseIfJson, parseJson } from './json.ts';
export { inputFields } from './schema/input-format.ts';
export type { InputField } from './schema/input-format.ts';
export { inputSchema } from './schema/input-schema.ts';
export {
  fillJsonText,
  isJsonText,
  jsonStructure,
  resolveJson,
  templateFields,
  templateItems,
  findSingleHole,
} from './refs/json-text.ts';
export { authoredValue } from './refs/template.ts';
export { followPath, parsePath } from './refs/path.ts';
export type { ResolveMode } from './refs/resolve.ts';
export type { TextPart } from './refs/template.ts';

// API for HTTP responses
export { isRetryableStatus, parseRetryAfterMs } from './http-retry.ts';
