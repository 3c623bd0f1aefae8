import type { Finding } from '../refs/finding.ts';
import { diagnostic } from './codes.ts';
import type { Diagnostic, Severity } from './diagnostic.ts';
import type { Site, SiteKind } from './site.ts';

interface Reporting {
  kind: SiteKind;
  /** True: what would be an error is a warning, and the text stays as it is at run time. */
  compat: boolean;
}

/** What the reference compiler found in one field, as diagnostics. */
export function reportFindings(site: Site, findings: readonly Finding[], reporting: Reporting): Diagnostic[] {
  return findings.flatMap((finding) => reportFinding(site, finding, reporting) ?? []);
}

function reportFinding(site: Site, finding: Finding, reporting: Reporting): Diagnostic | undefined {
  const { block, path } = site;
  const at = { blockId: block.id, path };
  const { text, head, suggestion } = finding;
  switch (finding.kind) {
    case 'unknown-block': {
      const severity = unknownBlock(finding, reporting);
      if (!severity) return undefined;
      const generic = /^(loop|parallel)$/i.exec(head)?.[0].toLowerCase();
      const message = generic
        ? `${text} in "${block.name}" stands in no ${generic}.`
        : `${text} in "${block.name}" names the block "${head}", which does not exist.`;
      if (generic) return diagnostic('REFERENCE_UNKNOWN_BLOCK', { ...at, severity, message, hint: `Move the block into a ${generic}, or name one: <name.results>.` });
      const hint = suggestion === undefined ? 'Correct the name, or add the block.' : `Did you mean <${suggestion}${pathOf(finding)}>?`;
      return diagnostic('REFERENCE_UNKNOWN_BLOCK', { ...at, severity, message, hint });
    }
    case 'unknown-variable': {
      if (finding.where === 'comment') return undefined;
      const message = `${text} in "${block.name}" names the variable "${head}", which does not exist.`;
      const hint = suggestion === undefined ? 'Correct the name, or add the variable.' : `Did you mean <variable.${suggestion}>?`;
      return diagnostic('REFERENCE_UNKNOWN_VARIABLE', { ...at, severity: reporting.compat ? 'warning' : 'error', message, hint });
    }
    case 'quoted-reference': {
      const message = `${text} stands inside quotes in an expression of "${block.name}", where it brings quotes of its own along.`;
      return diagnostic('REFERENCE_QUOTED', { ...at, message, hint: `Remove the quotes around ${text}.` });
    }
    case 'html-name': {
      const message = `${text} in "${block.name}" is an HTML element and the name of a block; it is read as the block.`;
      return diagnostic('REFERENCE_HTML_NAME', { ...at, message, hint: 'Rename the block if the element is meant.' });
    }
    case 'never-ran-candidate': {
      const message = `${text} in "${block.name}" names a disabled block, so it is always empty.`;
      return diagnostic('REFERENCE_NEVER_RAN', { ...at, message, hint: 'Enable the block, or remove the reference.' });
    }
  }
}

/**
 * How bad an unknown head is. In code and expressions the text would be left behind and break them. In text, strings and
 * comments only a head that is close to a name is surely meant; one without a path may be any tag.
 */
function unknownBlock(finding: Finding, { kind, compat }: Reporting): Severity | undefined {
  const { where, dotted, distance = Infinity, head } = finding;
  const close = distance <= 2 && distance < head.length;
  const bad: Severity = compat ? 'warning' : 'error';
  if (where === 'code') {
    if (dotted) return bad;
    // `a<b>c` and `<b, b>` are comparisons: without a path only a plain name can be meant.
    if (!/^[\p{L}\p{N}_ -]+$/u.test(head)) return undefined;
    return kind === 'expression' || close ? bad : 'warning';
  }
  if (!dotted) return undefined;
  return close ? bad : 'warning';
}

function pathOf({ text, head }: Finding): string {
  const at = text.indexOf(head);
  return at < 0 ? '' : text.slice(at + head.length, -1);
}
