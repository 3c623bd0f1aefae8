import type { ReferenceFinding } from '../refs/reference-finding.ts';
import { diagnostic } from './diagnostics.ts';
import type { DiagnosticCode, Diagnostic, Severity } from './diagnostics.ts';
import type { FieldLocation, CompiledFieldKind } from './field-location.ts';

interface ReportOptions {
  kind: CompiledFieldKind;
  /** True: errors become warnings, and an unknown reference stays in the text at run time. */
  compat: boolean;
}

/** Returns the diagnostics for the findings of the reference compiler in one field. */
export function diagnosticsOf(
  location: FieldLocation,
  findings: readonly ReferenceFinding[],
  options: ReportOptions,
): Diagnostic[] {
  return findings.flatMap((finding) => diagnosticFor(location, finding, options) ?? []);
}

type ReportedDetails = Pick<Diagnostic, 'message' | 'hint'> & { severity?: Severity };

const CODES = {
  'unknown-block': 'REFERENCE_UNKNOWN_BLOCK',
  'unknown-variable': 'REFERENCE_UNKNOWN_VARIABLE',
  'quoted-reference': 'REFERENCE_QUOTED',
  'html-name': 'REFERENCE_HTML_NAME',
  'disabled-block': 'REFERENCE_NEVER_RAN',
} as const satisfies { [kind in ReferenceFinding['kind']]: DiagnosticCode };

function diagnosticFor(
  location: FieldLocation,
  finding: ReferenceFinding,
  options: ReportOptions,
): Diagnostic | undefined {
  const details = detailsOf(location.block.name, finding, options);
  const { block, path } = location;
  return details && diagnostic(CODES[finding.kind], { blockId: block.id, path, ...details });
}

function detailsOf(
  blockName: string,
  finding: ReferenceFinding,
  options: ReportOptions,
): ReportedDetails | undefined {
  const { text } = finding;
  switch (finding.kind) {
    case 'unknown-block': {
      const severity = unknownBlockSeverity(finding, options);
      return severity && { severity, ...unknownBlockDetails(blockName, finding) };
    }
    case 'unknown-variable':
      return finding.syntaxPosition === 'comment'
        ? undefined
        : unknownVariableDetails(blockName, finding, options);
    case 'quoted-reference':
      return {
        message: `${text} is inside quotes in an expression of "${blockName}", where it adds its own quotes.`,
        hint: `Remove the quotes around ${text}.`,
      };
    case 'html-name':
      return {
        message: `${text} in "${blockName}" is an HTML element and the name of a block; it is read as the block.`,
        hint: 'Rename the block if you mean the element.',
      };
    case 'disabled-block':
      return {
        message: `${text} in "${blockName}" names a disabled block, so it is always empty.`,
        hint: 'Enable the block, or remove the reference.',
      };
  }
}

function unknownBlockDetails(blockName: string, finding: ReferenceFinding): ReportedDetails {
  const { text, name, suggestion } = finding;
  const container = /^(loop|parallel)$/i.exec(name)?.[0].toLowerCase();
  if (container !== undefined) {
    const hint = `Move the block into a ${container}, or name one: <name.results>.`;
    return { message: `${text} in "${blockName}" is not inside a ${container}.`, hint };
  }
  const hint =
    suggestion === undefined
      ? 'Correct the name, or add the block.'
      : `Did you mean <${suggestion}${pathOf(finding)}>?`;
  return { message: `${text} in "${blockName}" names the block "${name}", which does not exist.`, hint };
}

function unknownVariableDetails(
  blockName: string,
  finding: ReferenceFinding,
  { compat }: ReportOptions,
): ReportedDetails {
  const { text, name, suggestion } = finding;
  return {
    severity: compat ? 'warning' : 'error',
    message: `${text} in "${blockName}" names the variable "${name}", which does not exist.`,
    hint:
      suggestion === undefined
        ? 'Correct the name, or add the variable.'
        : `Did you mean <variable.${suggestion}>?`,
  };
}

/**
 * Returns the severity of a reference whose root (the name before its path) is unknown; undefined if it is not
 * reported. In code and expressions, the unresolved tag would be a syntax error. In text, strings and comments only a
 * root similar to a name is certainly a reference; a root without a path may be any tag.
 */
function unknownBlockSeverity(
  finding: ReferenceFinding,
  { kind, compat }: ReportOptions,
): Severity | undefined {
  const { syntaxPosition, hasPath, distance = Infinity, name } = finding;
  const isSimilar = distance <= 2 && distance < name.length;
  const severity: Severity = compat ? 'warning' : 'error';
  if (syntaxPosition === 'code') {
    if (hasPath) return severity;
    // `a<b>c` and `<b, b>` are comparisons. Without a path, only a plain name can be a reference.
    if (!/^[\p{L}\p{N}_ -]+$/u.test(name)) return undefined;
    return kind === 'expression' || isSimilar ? severity : 'warning';
  }
  if (!hasPath) return undefined;
  return isSimilar ? severity : 'warning';
}

function pathOf({ text, name }: ReferenceFinding): string {
  const index = text.indexOf(name);
  return index < 0 ? '' : text.slice(index + name.length, -1);
}
