import type { Structure } from '../graph/structure.ts';
import type { ReferenceFinding } from '../refs/reference-finding.ts';
import type { NameTable } from '../refs/names.ts';
import type { TemplateContext } from '../refs/read-tag.ts';
import type { Reference } from '../refs/template.ts';
import type { HostFeature } from '../ports.ts';
import type { Block, StoredContainer, Workflow } from '../schema/workflow.ts';
import type { DiagnosticSink } from './diagnostics.ts';
import { diagnosticsOf } from './reference-diagnostics.ts';
import type { PlanLimits } from './plan.ts';
import type { FieldLocation, CompiledFieldKind } from './field-location.ts';
import type { TypeTable } from './types.ts';

export type FieldPosition = TemplateContext['fieldPosition'];

/** A compiled reference and the field that contains it. The checks of references run after all fields are compiled. */
export interface CompiledReference {
  location: FieldLocation;
  fieldPosition: FieldPosition;
  ref: Reference;
}

interface CompilationInput {
  workflow: Workflow;
  structure: Structure;
  names: NameTable;
  types: TypeTable;
  /** Block types that have an executor. */
  runnableTypes: ReadonlySet<string>;
  /** The data that the host provides for blocks. */
  features: ReadonlySet<HostFeature>;
  limits: PlanLimits;
  compat: boolean;
  sink: DiagnosticSink;
}

/** The inputs and results of one compilation. */
export class Compilation {
  readonly workflow: Workflow;
  readonly structure: Structure;
  readonly names: NameTable;
  readonly types: TypeTable;
  readonly runnableTypes: ReadonlySet<string>;
  readonly features: ReadonlySet<HostFeature>;
  readonly limits: PlanLimits;
  readonly compat: boolean;
  readonly sink: DiagnosticSink;
  readonly references: CompiledReference[] = [];
  /** Number of characters of code parsed so far. */
  parsedChars = 0;
  readonly #storedContainers: ReadonlyMap<string, StoredContainer>;

  constructor(input: CompilationInput) {
    this.workflow = input.workflow;
    this.structure = input.structure;
    this.names = input.names;
    this.types = input.types;
    this.runnableTypes = input.runnableTypes;
    this.features = input.features;
    this.limits = input.limits;
    this.compat = input.compat;
    this.sink = input.sink;
    this.#storedContainers = new Map(
      input.workflow.storedContainers.map((entry) => [`${entry.kind} ${entry.id}`, entry]),
    );
  }

  /** Returns the context of a field for the reference compiler. */
  context(location: FieldLocation, fieldPosition: FieldPosition = 'ordinary'): TemplateContext {
    return { names: this.names, blockId: location.block.id, fieldPosition };
  }

  /** Returns the container in the stored map, `loops` or `parallels` of the file, that has the id of the block. */
  storedContainerOf(block: Block): StoredContainer | undefined {
    return this.#storedContainers.get(`${block.type} ${block.id}`);
  }

  /** Adds the reference compiler's findings for a field as diagnostics. */
  report(location: FieldLocation, findings: readonly ReferenceFinding[], kind: CompiledFieldKind): void {
    for (const entry of diagnosticsOf(location, findings, { kind, compat: this.compat }))
      this.sink.push(entry);
  }

  /** Collects the references of a field. */
  addReferences(
    location: FieldLocation,
    references: readonly Reference[],
    fieldPosition: FieldPosition = 'ordinary',
  ): void {
    for (const ref of references) this.references.push({ location, fieldPosition, ref });
  }
}
