import type { Structure } from '../graph/structure.ts';
import type { ReferenceFinding } from '../refs/finding.ts';
import type { NameTable } from '../refs/names.ts';
import type { TemplateContext } from '../refs/reading.ts';
import type { Reference } from '../refs/template.ts';
import type { Block, StoredContainer, Workflow } from '../schema/workflow.ts';
import type { DiagnosticSink } from './diagnostics.ts';
import { reportFindings } from './findings.ts';
import type { PlanLimits } from './plan.ts';
import type { FieldLocation, CompiledFieldKind } from './site.ts';
import type { TypeTable } from './types.ts';

export type Standing = TemplateContext['standing'];

/** A reference that was compiled, for the checks that look at all of them. */
export interface SeenReference {
  site: FieldLocation;
  standing: Standing;
  ref: Reference;
}

interface Parts {
  workflow: Workflow;
  structure: Structure;
  names: NameTable;
  types: TypeTable;
  /** Types that something runs. */
  runnable: ReadonlySet<string>;
  limits: PlanLimits;
  compat: boolean;
  found: DiagnosticSink;
}

/** What one compile has at hand, and what it has found so far. */
export class Compilation {
  readonly workflow: Workflow;
  readonly structure: Structure;
  readonly names: NameTable;
  readonly types: TypeTable;
  readonly runnable: ReadonlySet<string>;
  readonly limits: PlanLimits;
  readonly compat: boolean;
  readonly found: DiagnosticSink;
  readonly seen: SeenReference[] = [];
  /** Characters of code that have been parsed so far. */
  parsedChars = 0;
  readonly #stored: ReadonlyMap<string, StoredContainer>;

  constructor(parts: Parts) {
    this.workflow = parts.workflow;
    this.structure = parts.structure;
    this.names = parts.names;
    this.types = parts.types;
    this.runnable = parts.runnable;
    this.limits = parts.limits;
    this.compat = parts.compat;
    this.found = parts.found;
    this.#stored = new Map(parts.workflow.stored.map((entry) => [`${entry.kind} ${entry.id}`, entry]));
  }

  /** Where the field stands, for the reference compiler. */
  context(site: FieldLocation, standing: Standing = 'inside'): TemplateContext {
    return { names: this.names, reader: site.block.id, standing };
  }

  /** The stored map's entry for a container block. */
  storedOf(block: Block): StoredContainer | undefined {
    return this.#stored.get(`${block.type} ${block.id}`);
  }

  /** Turns what the reference compiler found in a field into diagnostics. */
  report(site: FieldLocation, findings: readonly ReferenceFinding[], kind: CompiledFieldKind): void {
    for (const each of reportFindings(site, findings, { kind, compat: this.compat })) this.found.push(each);
  }

  /** Remembers the references of a field. */
  see(site: FieldLocation, references: readonly Reference[], standing: Standing = 'inside'): void {
    for (const ref of references) this.seen.push({ site, standing, ref });
  }
}
