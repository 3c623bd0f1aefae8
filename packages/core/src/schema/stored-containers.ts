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
    const raw = parseShape(containerShape, entry, [key, id], sink);
    return raw ? [{ id, kind, nodes: raw.nodes ?? [], settings: toSettings(kind, raw as JsonObject) }] : [];
  });
}

function toSettings(kind: 'loop' | 'parallel', raw: JsonObject): JsonObject {
  const data: { [key: string]: Json } = { ...raw };
  for (const [from, to] of Object.entries(RENAMED_KEYS[kind])) {
    const value = getOwn(raw, from);
    if (value != null) data[to] = value;
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
