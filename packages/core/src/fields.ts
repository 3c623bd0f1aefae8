import './node-version.ts';

// fields that their blocks take apart: JSON text, lists and objects of templates
export { parsedText, parseJson } from './json.ts';
export {
  fillJsonText,
  isJsonText,
  jsonStructure,
  resolveJson,
  templateFields,
  templateItems,
  wholeHole,
} from './refs/json-text.ts';
export type { ResolveMode } from './refs/resolve.ts';
export type { TextPart } from './refs/template.ts';
