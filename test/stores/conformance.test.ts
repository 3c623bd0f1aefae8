import type { Stores } from '@heddle/engine/stores';
import { describeConversations } from '../conformance/stores/conversations.ts';
import { describeControlStore } from '../conformance/stores/control-store.ts';
import { describeDefinitionStore } from '../conformance/stores/definition-store.ts';
import { describeLiveEvents } from '../conformance/stores/live-events.ts';
import { describeRates } from '../conformance/stores/rates.ts';
import { describeSpending } from '../conformance/stores/spending.ts';
import { describeRunChanges } from '../conformance/stores/run-changes.ts';
import { describeRunStore } from '../conformance/stores/run-store.ts';
import { describeTailableRunStore } from '../conformance/stores/tailable-run-store.ts';
import { describePruning, describeValueStore } from '../conformance/stores/value-store.ts';
import { createDataFolder } from '../support/data-folder.ts';
import { openTestStores } from './stores.ts';

const STORES = {
  memory: () => openTestStores({}),
  sqlite: () => openTestStores({ data: createDataFolder() }),
  'sqlite, shared': () => openTestStores({ data: createDataFolder(), shared: true }),
  'sqlite, durable against power loss': () =>
    openTestStores({ data: createDataFolder(), durability: 'power' }),
} as const;

for (const [name, open] of Object.entries(STORES)) {
  describeRunStore(name, () => open().runs);
  describeTailableRunStore(name, () => toStorePair(open().runs));
  describeValueStore(name, () => open().values);
  describePruning(name, open);
  describeRunChanges(name, open);
  describeConversations(name, () => open().conversations);
  describeLiveEvents(name, () => toStorePair(open().liveEvents));
  describeSpending(name, () => toStorePair(open().spending));
  describeRates(name, () => toStorePair(open().rates));
  describeDefinitionStore(name, () => open().definitions);
  describeControlStore(name, () => open().control);
}

describeLiveEvents('sqlite, two processes', () => openTwice('liveEvents'));
describeSpending('sqlite, two processes', () => openTwice('spending'));
describeRates('sqlite, two processes', () => openTwice('rates'));
describeTailableRunStore('sqlite, two processes', () => openTwice('runs'));

/** Returns the same store under both names. */
function toStorePair<Store>(store: Store): Record<'firstStore' | 'secondStore', Store> {
  return { firstStore: store, secondStore: store };
}

/** Opens a store twice on one folder, like two processes. */
function openTwice<Name extends keyof Stores>(
  name: Name,
): Record<'firstStore' | 'secondStore', Stores[Name]> {
  const data = createDataFolder();
  const [firstStore, secondStore] = [
    openTestStores({ data, shared: true }),
    openTestStores({ data, shared: true }),
  ];
  return { firstStore: firstStore[name], secondStore: secondStore[name] };
}
