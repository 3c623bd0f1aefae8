import { isJsonObject, own } from '../json.ts';
import type { Json } from '../json.ts';
import { compileCode } from '../refs/code.ts';
import { referencesIn } from '../refs/inventory.ts';
import type { CodeTemplate } from '../refs/template.ts';
import type { Block } from '../schema/workflow.ts';
import { diagnostic } from './codes.ts';
import type { Compilation } from './compilation.ts';
import { fieldLocation } from './site.ts';
import { checkCode } from './syntax.ts';

const LANGUAGES = ['javascript', 'python', 'shell'] as const;

/** The code of a function block, compiled; undefined: its language does not exist. */
export function readCode(compilation: Compilation, block: Block): CodeTemplate | undefined {
  const site = fieldLocation(block, 'code');
  const said = own(block.fields, 'language') ?? 'javascript';
  const language = said === '' ? 'javascript' : LANGUAGES.find((known) => known === said);
  if (language === undefined) {
    compilation.found.push(
      diagnostic('LANGUAGE_UNKNOWN', {
        blockId: block.id,
        path: fieldLocation(block, 'language').path,
        message: `"${block.name}" is written in ${JSON.stringify(said)}, which is no language of function blocks.`,
        hint: `Use one of ${LANGUAGES.join(', ')}.`,
      }),
    );
    return undefined;
  }
  const text = codeText(own(block.fields, 'code'));
  if (text.trim() === '') {
    compilation.found.push(
      diagnostic('FIELD_EMPTY', {
        blockId: block.id,
        path: site.path,
        message: `"${block.name}" has no code; it fails when it is reached.`,
        hint: 'Write its code, or remove the block.',
      }),
    );
  }
  const { code, findings } = compileCode(text, language, compilation.context(site));
  compilation.report(site, findings, 'code');
  checkCode(compilation, site, { code, findings });
  compilation.see(site, referencesIn(code));
  return code;
}

/** Code is a text, or a list of `{content}` pieces, one under the other. */
function codeText(stored: Json | undefined): string {
  if (typeof stored === 'string') return stored;
  if (!Array.isArray(stored)) return '';
  const pieces = stored.filter(isJsonObject).map((piece) => own(piece, 'content'));
  return pieces.filter((piece) => typeof piece === 'string').join('\n');
}
