import type { ReferenceFinding } from './reference-finding.ts';
import { JavaScriptScanner } from './javascript.ts';
import { scanPython } from './python.ts';
import type { TemplateContext } from './read-tag.ts';
import { scanShell } from './shell.ts';
import { SiteFinder } from './sites.ts';
import type { CodeTemplate, ExpressionKind, ExpressionTemplate } from './template.ts';
import { CodeRewriter } from './code-rewriter.ts';

/**
 * Returns the code of a function block with its references bound to identifiers. In a shell script these are
 * environment variables.
 */
export function compileCode(
  code: string,
  language: CodeTemplate['language'],
  context: TemplateContext,
): { code: CodeTemplate; findings: ReferenceFinding[] } {
  const finder = new SiteFinder(code, context, language === 'shell' ? 'text' : 'function');
  const rewriter = new CodeRewriter(code, undefined);
  if (language === 'javascript') new JavaScriptScanner(finder, rewriter, false).scan();
  else if (language === 'python') scanPython(finder, rewriter);
  else scanShell(finder, rewriter);
  return {
    code: { authored: code, bindings: rewriter.bindings, code: rewriter.finish(), language },
    findings: finder.findings,
  };
}

/** Returns a condition, loop condition or count with its references bound to identifiers. */
export function compileExpression(
  text: string,
  context: TemplateContext,
  kind: ExpressionKind,
): { expression: ExpressionTemplate; findings: ReferenceFinding[] } {
  const finder = new SiteFinder(text, context, 'expression');
  const rewriter = new CodeRewriter(text, kind);
  new JavaScriptScanner(finder, rewriter, true).scan();
  const expression = { authored: text, bindings: rewriter.bindings, code: trimExpression(rewriter.finish()) };
  return { expression, findings: finder.findings };
}

/** Removes surrounding spaces and trailing semicolons, so that the code fits into parentheses. */
function trimExpression(code: string): string {
  let end = code.length;
  while (end > 0 && /[\s;]/.test(code.charAt(end - 1))) end--;
  return code.slice(0, end).trimStart();
}
