import type { ApiError } from '@heddle/api';
import { badRequest } from '@heddle/api/areas';
import type { KindName } from './kinds.ts';
import type { Occurrence } from './references.ts';

/** The target that replaces an id everywhere in the file. A null target clears the id. */
export interface Mapping {
  kind: KindName;
  sourceId: string;
  targetId?: string | null | undefined;
}

/** The target that a caller chooses for one occurrence. A null target clears it. */
export interface Binding extends Occurrence {
  kind: KindName;
  targetId?: string | null | undefined;
}

/** The id of a target; null clears the reference; undefined: no instruction. */
export type Target = string | null | undefined;

interface Reference {
  kind: KindName;
  sourceId: string;
  occurrence: Occurrence;
}

/** Maximum number of positions in each of these: the bindings of an import, the graph, and the manifest. */
export const MAX_TOTAL_POSITIONS = 100_000;

/** The mappings and bindings of references. Throws 400 for instructions that contradict each other. */
export class Instructions {
  readonly #mappings = new Map<string, string | null>();
  readonly #bindings = new Map<string, Map<number | undefined, Binding>>();
  readonly #usedBindings = new Set<Binding>();

  constructor(mappings: readonly Mapping[], bindings: readonly Binding[]) {
    requirePositionsWithinLimit(bindings);
    for (const { kind, sourceId, targetId } of mappings) {
      if (targetId === undefined) continue;
      const key = idKey(kind, sourceId);
      if (this.#mappings.has(key) && this.#mappings.get(key) !== targetId)
        throw conflictingInstructionsError(`mappings of ${kind} "${shorten(sourceId)}"`);
      this.#mappings.set(key, targetId);
    }
    for (const binding of bindings) this.#bind(binding);
  }

  /**
   * Returns a function that returns the target of the id at a position (undefined if the reference has no positions).
   * The function throws 400 if the instructions contradict each other or the reference.
   */
  resolverFor({ kind, sourceId, occurrence }: Reference): (position: number | undefined) => Target {
    const mappedTarget = this.#mappings.get(idKey(kind, sourceId));
    const bindingsByPosition = this.#bindings.get(bindingKey(occurrence));
    if (!bindingsByPosition) return () => mappedTarget;
    return (position) => {
      const binding = bindingsByPosition.get(position) ?? bindingsByPosition.get(undefined);
      if (binding?.targetId === undefined) return mappedTarget;
      this.#usedBindings.add(binding);
      if (binding.kind !== kind)
        throw badRequest(`${occurrenceName(binding)} has a ${kind}, and the binding names a ${binding.kind}`);
      if (mappedTarget !== undefined && mappedTarget !== binding.targetId)
        throw conflictingInstructionsError(occurrenceName(binding));
      return binding.targetId;
    };
  }

  /** Returns the bindings of fields in which the file has no reference. */
  unusedBindings(): Binding[] {
    return [...this.#bindings.values()]
      .flatMap((bindingsByPosition) => [...new Set(bindingsByPosition.values())])
      .filter((binding) => binding.targetId !== undefined && !this.#usedBindings.has(binding));
  }

  /** Returns the targets of all instructions, each with its kind. */
  targets(): { kind: KindName; id: string }[] {
    const bindingTargets = [...this.#bindings.values()].flatMap((bindingsByPosition) =>
      [...bindingsByPosition.values()].flatMap(({ kind, targetId }) =>
        targetId == null ? [] : [{ kind, id: targetId }],
      ),
    );
    const mappingTargets = [...this.#mappings].flatMap(([key, id]) =>
      id === null ? [] : [{ kind: kindIn(key), id }],
    );
    return [...bindingTargets, ...mappingTargets];
  }

  #bind(binding: Binding): void {
    if (binding.targetId === undefined) return;
    const key = bindingKey(binding);
    const bindingsByPosition = this.#bindings.get(key) ?? new Map<number | undefined, Binding>();
    this.#bindings.set(key, bindingsByPosition);
    for (const position of binding.positions ?? [undefined]) {
      const earlierBinding = bindingsByPosition.get(position);
      const isDifferent =
        earlierBinding &&
        (earlierBinding.targetId !== binding.targetId || earlierBinding.kind !== binding.kind);
      // A binding of the whole value and a binding of one of its items contradict each other as well.
      const isMixed =
        bindingsByPosition.size > 0 && bindingsByPosition.has(undefined) !== (position === undefined);
      if (isDifferent || isMixed) throw conflictingInstructionsError(occurrenceName(binding));
      bindingsByPosition.set(position, binding);
    }
  }
}

/** Throws 400 if the occurrences have more positions in total than an import may have. */
export function requirePositionsWithinLimit(occurrences: readonly Occurrence[]): void {
  const count = occurrences.reduce((sum, { positions }) => sum + (positions?.length ?? 0), 0);
  if (count > MAX_TOTAL_POSITIONS)
    throw badRequest(`An import has at most ${MAX_TOTAL_POSITIONS} positions: there are ${count}`);
}

/** Returns a string that is equal for occurrences at the same place. */
export function occurrenceKey({ blockId, subBlockKey, valuePath }: Occurrence): string {
  return JSON.stringify([blockId, subBlockKey, valuePath]);
}

/** Returns the key of a binding. A field with an id may also have placeholders, which are bound separately. */
function bindingKey(occurrence: Occurrence): string {
  return `${occurrence.encoding === 'environment'} ${occurrenceKey(occurrence)}`;
}

function idKey(kind: KindName, sourceId: string): string {
  return `${kind} ${sourceId}`;
}

function kindIn(key: string): KindName {
  return key.slice(0, key.indexOf(' ')) as KindName;
}

function conflictingInstructionsError(subject: string): ApiError {
  return badRequest(`The import has conflicting instructions for ${subject}: send one`);
}

/** Returns the description of an occurrence for error messages. */
export function occurrenceName({ blockId, subBlockKey, valuePath }: Occurrence): string {
  const path = [subBlockKey, ...valuePath].join('.');
  return `"${shorten(path)}" of block "${shorten(blockId)}"`;
}

function shorten(text: string): string {
  return text.slice(0, 100);
}
