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
import { dataFolder } from '../support/data-folder.ts';
import { openTestStores } from './stores.ts';

const STORES = {
  memory: () => openTestStores({}),
  sqlite: () => openTestStores({ data: dataFolder() }),
  'sqlite, shared': () => openTestStores({ data: dataFolder(), shared: true }),
  'sqlite, durable against power loss': () => openTestStores({ data: dataFolder(), durability: 'power' }),
} as const;

for (const [name, open] of Object.entries(STORES)) {
  describeRunStore(name, () => open().runs);
  describeTailableRunStore(name, () => twice(open().runs));
  describeValueStore(name, () => open().values);
  describePruning(name, open);
  describeRunChanges(name, open);
  describeConversations(name, () => open().conversations);
  describeLiveEvents(name, () => twice(open().live));
  describeSpending(name, () => twice(open().spending));
  describeRates(name, () => twice(open().rates));
  describeDefinitionStore(name, () => open().definitions);
  describeControlStore(name, () => open().control);
}

describeLiveEvents('sqlite, two processes', () => openTwice('live'));
describeSpending('sqlite, two processes', () => openTwice('spending'));
describeRates('sqlite, two processes', () => openTwice('rates'));
describeTailableRunStore('sqlite, two processes', () => openTwice('runs'));

/** Returns the same store under both names. */
function twice<Store>(store: Store): Record<'one' | 'other', Store> {
  return { one: store, other: store };
}

/** Opens a store twice on one folder, like two processes. */
function openTwice<Name extends keyof Stores>(name: Name): Record<'one' | 'other', Stores[Name]> {
  const data = dataFolder();
  const [one, other] = [openTestStores({ data, shared: true }), openTestStores({ data, shared: true })];
  return { one: one[name], other: other[name] };
}
