import { isJsonObject } from '../json.ts';
import type { Json } from '../json.ts';
import { envNamesIn, referencesIn } from '../refs/template.ts';
import { compileTemplate, findSingleReference } from '../refs/text.ts';
import { readJsonText } from '../schema/read-json-text.ts';
import { diagnostic } from './diagnostics.ts';
import type { Compilation } from './compilation.ts';
import type { CollectionSource } from './plan.ts';
import type { FieldLocation } from './field-location.ts';

/**
 * Returns the source of a container's items. A value that can never be a list is `invalid`: the container fails when a
 * run reaches it.
 */
export function readCollection(
  compilation: Compilation,
  location: FieldLocation,
  value: Json | undefined,
): CollectionSource {
  const source = readSource(compilation, location, value);
  if ('invalid' in source) {
    compilation.sink.push(
      diagnostic('COLLECTION_INVALID', {
        blockId: location.block.id,
        path: location.path,
        message: `The collection of "${location.block.name}" cannot be used: ${source.invalid}`,
        hint: 'Use a JSON array, or exactly one reference to a list or an object, without spaces around it.',
      }),
    );
  }
  return source;
}

function readSource(
  compilation: Compilation,
  location: FieldLocation,
  value: Json | undefined,
): CollectionSource {
  if (value == null || value === '') return { invalid: 'it is empty.' };
  const context = compilation.context(location, 'container');
  if (typeof value === 'string') {
    const singleResult = findSingleReference(value, context);
    compilation.report(location, singleResult.findings, 'expression');
    if (singleResult.reference) {
      compilation.addReferences(location, [singleResult.reference], 'container');
      return { reference: singleResult.reference };
    }
    // The unknown name has its own diagnostic. With `compat` the text is not a list at run time either.
    if (singleResult.findings.length > 0) return { invalid: 'its reference is unknown.' };
  }
  const source = typeof value === 'string' ? readText(value) : readItems(value);
  if (!('static' in source)) return source;
  const { template, findings } = compileTemplate(source.static, context);
  // References inside a list stay text, as in older engines, unless the list contains placeholders.
  if (envNamesIn(template).length === 0) return source;
  compilation.report(location, findings, 'text');
  compilation.addReferences(location, referencesIn(template), 'container');
  return { template };
}

/**
 * Reads a list written as JSON. Single quotes count as double quotes, because many exported graphs contain them. So no
 * string in the list can contain an apostrophe.
 */
function readText(text: string): CollectionSource {
  const { value, problem } = readJsonText(text.replaceAll("'", '"'));
  if (problem === undefined) return readItems(value);
  const hasApostrophe = text.includes("'") && readJsonText(text).problem === undefined;
  return {
    invalid: hasApostrophe
      ? 'single quotes count as double quotes, so it cannot contain an apostrophe.'
      : 'it is not JSON.',
  };
}

/** Returns the items: of a list, of an object as `[key, value]` pairs, or none for null. */
function readItems(value: Json | undefined): CollectionSource {
  if (Array.isArray(value)) return { static: value };
  if (isJsonObject(value)) return { static: Object.entries(value).map((pair): Json => pair) };
  return value == null ? { static: [] } : { invalid: `it is a ${typeof value}, not a list or an object.` };
}
