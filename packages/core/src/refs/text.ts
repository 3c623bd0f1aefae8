import type { Json } from '../json.ts';
import type { ReferenceFinding } from './reference-finding.ts';
import { LESS_THAN, OPEN_BRACE } from './grammar.ts';
import type { TemplateContext } from './read-tag.ts';
import { SiteFinder } from './sites.ts';
import type { Reference, Template, TextPart } from './template.ts';

/** Returns the compiled form of a field's value: each string in it, at any depth, is a template. Keys are unchanged. */
export function compileTemplate(
  value: Json,
  context: TemplateContext,
): { template: Template; findings: ReferenceFinding[] } {
  const findings: ReferenceFinding[] = [];
  return { template: compile(value, context, findings), findings };
}

/** Returns the reference if `text` is exactly one reference, without spaces around it, and the findings about it. */
export function findSingleReference(
  text: string,
  context: TemplateContext,
): { reference?: Reference; findings: ReferenceFinding[] } {
  const finder = new SiteFinder(text, context, 'expression');
  const site = finder.findInCode(0, 'no-operand');
  const isWhole = site === undefined || site.end === text.length;
  const findings = finder.findings.filter((finding) => finding.text === text);
  return isWhole && site?.kind === 'reference' ? { reference: site.ref, findings } : { findings };
}

/** Returns the parts of `text`. Text between references and placeholders is unchanged. */
export function compileText(text: string, finder: SiteFinder): TextPart[] {
  const parts: TextPart[] = [];
  let copiedUntil = 0;
  let offset = nextSiteCandidate(text, 0);
  while (offset < text.length) {
    const site = finder.findInText(offset, text.length);
    if (site === undefined || site.kind === 'malformed') {
      offset = nextSiteCandidate(text, offset + 1);
      continue;
    }
    if (site.start > copiedUntil) parts.push(text.slice(copiedUntil, site.start));
    parts.push(site.kind === 'env' ? { env: site.name, text: site.text } : { ref: site.ref });
    copiedUntil = site.end;
    offset = nextSiteCandidate(text, copiedUntil);
  }
  if (copiedUntil < text.length) parts.push(text.slice(copiedUntil));
  return parts;
}

function compile(value: Json, context: TemplateContext, findings: ReferenceFinding[]): Template {
  if (typeof value === 'string') return compileString(value, context, findings);
  if (Array.isArray(value)) {
    const items = value.map((item) => compile(item, context, findings));
    return items.every(isLiteral) ? { kind: 'literal', value } : { kind: 'list', items };
  }
  if (typeof value !== 'object' || value === null) return { kind: 'literal', value };
  const entries = Object.entries(value).map(([key, item]): [string, Template] => [
    key,
    compile(item, context, findings),
  ]);
  return entries.every(([, item]) => isLiteral(item))
    ? { kind: 'literal', value }
    : { kind: 'object', entries };
}

function compileString(text: string, context: TemplateContext, findings: ReferenceFinding[]): Template {
  const finder = new SiteFinder(text, context, 'text');
  const parts = compileText(text, finder);
  for (const finding of finder.findings) findings.push(finding);
  return parts.every((part) => typeof part === 'string')
    ? { kind: 'literal', value: text }
    : { kind: 'text', parts };
}

function isLiteral(template: Template): boolean {
  return template.kind === 'literal';
}

/** Returns the offset of the next `<` or `{`, where a site may begin, or the length of the text. */
function nextSiteCandidate(text: string, start: number): number {
  for (let offset = start; offset < text.length; offset++) {
    const code = text.charCodeAt(offset);
    if (code === LESS_THAN || code === OPEN_BRACE) return offset;
  }
  return text.length;
}
