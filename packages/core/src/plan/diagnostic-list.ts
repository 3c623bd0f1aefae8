import { diagnostic } from './codes.ts';
import type { Diagnostic, Severity } from './diagnostic.ts';

/** Diagnostics of one severity that are kept with their text. The others are counted. */
export const MOST_DIAGNOSTICS = 500;

/** Longer messages and hints are cut: they quote values of the input. */
const TEXT_CHARS = 1000;

/** Takes diagnostics one by one, as an array does. */
export interface DiagnosticSink {
  push(found: Diagnostic): void;
}

/** Diagnostics without repetitions, at most MOST_DIAGNOSTICS of each severity; a last one counts the others by code. */
export class DiagnosticList implements DiagnosticSink {
  readonly #kept = new Map<string, Diagnostic>();
  readonly #counts: Record<Severity, number> = { error: 0, warning: 0 };
  readonly #more = new Map<string, number>();
  #moreErrors = false;

  push(found: Diagnostic): void {
    const each = { ...found, message: cut(found.message), hint: cut(found.hint) };
    const key = JSON.stringify([each.severity, each.path, each.code, each.message]);
    if (this.#kept.has(key)) return;
    if (this.#counts[each.severity] < MOST_DIAGNOSTICS) {
      this.#counts[each.severity]++;
      this.#kept.set(key, each);
      return;
    }
    this.#more.set(each.code, (this.#more.get(each.code) ?? 0) + 1);
    this.#moreErrors ||= each.severity === 'error';
  }

  /** True when one of them is an error. */
  get hasErrors(): boolean {
    return this.#counts.error > 0;
  }

  /** In the order in which they were found. */
  all(): Diagnostic[] {
    return [...this.#kept.values(), ...this.#rest()];
  }

  /** Errors first, then by place: equal for every order of keys in the input. */
  inOrder(): Diagnostic[] {
    const sorted = [...this.#kept].toSorted(([a], [b]) => (a < b ? -1 : 1));
    return [...sorted.map(([, each]) => each), ...this.#rest()];
  }

  /** The diagnostic that counts those that were not kept, last of all. */
  #rest(): Diagnostic[] {
    if (this.#more.size === 0) return [];
    const codes = [...this.#more].toSorted(([a], [b]) => (a < b ? -1 : 1));
    const count = codes.reduce((sum, [, each]) => sum + each, 0);
    const rest = diagnostic('DIAGNOSTICS_MORE', {
      path: [],
      message: `And ${count} more: ${codes.map(([code, each]) => `${code} (${each})`).join(', ')}.`,
      hint: 'Correct the ones above, then check again.',
      severity: this.#moreErrors ? 'error' : 'warning',
    });
    return [rest];
  }
}

function cut(text: string): string {
  return text.length > TEXT_CHARS ? `${text.slice(0, TEXT_CHARS - 1)}…` : text;
}
