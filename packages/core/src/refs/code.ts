import type { Finding } from './finding.ts';
import { JavaScriptScanner } from './javascript.ts';
import { scanPython } from './python.ts';
import type { TemplateContext } from './reading.ts';
import { SiteFinder } from './sites.ts';
import type { CodeTemplate, ExpressionKind, ExpressionTemplate } from './template.ts';
import { compileText } from './text.ts';
import { Weaver } from './weaver.ts';

/** Code of a function block with its references bound to identifiers. Shell code keeps its text: nothing runs it. */
export function compileCode(
  code: string,
  language: CodeTemplate['language'],
  context: TemplateContext,
): { code: CodeTemplate; findings: Finding[] } {
  const finder = new SiteFinder(code, context, language === 'shell' ? 'text' : 'function');
  const weaver = new Weaver(code, undefined);
  if (language === 'javascript') new JavaScriptScanner(finder, weaver, false).scan();
  else if (language === 'python') scanPython(finder, weaver);
  else bindText(finder, weaver);
  return {
    code: { authored: code, bindings: weaver.bindings, code: weaver.finish(), language },
    findings: finder.findings,
  };
}

/** A condition, loop condition or count with its references bound to identifiers. */
export function compileExpression(
  text: string,
  context: TemplateContext,
  kind: ExpressionKind,
): { expression: ExpressionTemplate; findings: Finding[] } {
  const finder = new SiteFinder(text, context, 'expression');
  const weaver = new Weaver(text, kind);
  new JavaScriptScanner(finder, weaver, true).scan();
  const expression = { authored: text, bindings: weaver.bindings, code: withoutEnd(weaver.finish()) };
  return { expression, findings: finder.findings };
}

/** Bindings for every site of a text that is not rewritten. */
function bindText(finder: SiteFinder, weaver: Weaver): void {
  for (const part of compileText(finder.text, finder)) {
    if (typeof part === 'string') continue;
    const extent = { start: 0, end: 0 };
    if ('ref' in part)
      weaver.bind({ kind: 'reference', ...extent, text: part.ref.text, ref: part.ref }, 'code');
    else weaver.bind({ kind: 'env', ...extent, text: part.text, name: part.env }, '"');
  }
}

/** Without semicolons and spaces around it: what stands there must fit into parentheses. */
function withoutEnd(code: string): string {
  let end = code.length;
  while (end > 0 && /[\s;]/.test(code.charAt(end - 1))) end--;
  return code.slice(0, end).trimStart();
}
