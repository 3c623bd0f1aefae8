import type { DiagnosticSink } from '../plan/diagnostics.ts';
import { isJsonObject, getOwn } from '../json.ts';
import type { Json, JsonObject } from '../json.ts';
import { pickContainerSettings } from './read-block.ts';
import { containerShape, parseShape } from './shapes.ts';
import type { StoredContainer } from './workflow.ts';

/** Keys of stored maps that differ from those of a block's data. */
const RENAMED_KEYS = {
  loop: { iterations: 'count', forEachItems: 'collection' },
  parallel: { distribution: 'collection' },
} as const;

/** Returns the entries of the stored `loops` and `parallels` maps, with the keys of container blocks. */
export function readStoredContainers(state: JsonObject, sink: DiagnosticSink): StoredContainer[] {
  return [...readMap('loop', 'loops', state, sink), ...readMap('parallel', 'parallels', state, sink)];
}

function readMap(
  kind: 'loop' | 'parallel',
  key: string,
  state: JsonObject,
  sink: DiagnosticSink,
): StoredContainer[] {
  const map = getOwn(state, key);
  if (!isJsonObject(map)) return [];
  return Object.entries(map).flatMap(([id, entry]): StoredContainer[] => {
    if (entry === null) return [];
    const storedEntry = parseShape(containerShape, entry, [key, id], sink);
    return storedEntry
      ? [{ id, kind, nodes: storedEntry.nodes ?? [], settings: toSettings(kind, storedEntry as JsonObject) }]
      : [];
  });
}

function toSettings(kind: 'loop' | 'parallel', storedEntry: JsonObject): JsonObject {
  const data: { [key: string]: Json } = { ...storedEntry };
  for (const [storedKey, key] of Object.entries(RENAMED_KEYS[kind])) {
    const value = getOwn(storedEntry, storedKey);
    if (value != null) data[key] = value;
  }
  return pickContainerSettings(data);
}

/** Returns the stored map entry of a container, with the keys of stored maps. */
export function serializeStoredContainer(storedContainer: StoredContainer): JsonObject {
  const entry: JsonObject = {
    id: storedContainer.id,
    nodes: storedContainer.nodes,
    ...storedContainer.settings,
  };
  for (const [storedKey, key] of Object.entries(RENAMED_KEYS[storedContainer.kind])) {
    const value = getOwn(entry, key);
    if (value === undefined) continue;
    entry[storedKey] = value;
    delete entry[key];
  }
  return entry;
}
