import { describeConversations } from '../conformance/stores/conversations.ts';
import { describeControlStore } from '../conformance/stores/control-store.ts';
import { describeDefinitionStore } from '../conformance/stores/definition-store.ts';
import { describeLiveEvents } from '../conformance/stores/live-events.ts';
import { describeRunChanges } from '../conformance/stores/run-changes.ts';
import { describeRunStore } from '../conformance/stores/run-store.ts';
import { describePruning, describeValueStore } from '../conformance/stores/value-store.ts';
import { dataFolder } from '../support/data-folder.ts';
import { stores } from './stores.ts';

const makers = {
  memory: () => stores({}),
  sqlite: () => stores({ data: dataFolder() }),
  'sqlite, shared': () => stores({ data: dataFolder(), shared: true }),
  'sqlite, durable against power loss': () => stores({ data: dataFolder(), durability: 'power' }),
} as const;

for (const [name, make] of Object.entries(makers)) {
  describeRunStore(name, () => make().runs);
  describeValueStore(name, () => make().values);
  describePruning(name, make);
  describeRunChanges(name, make);
  describeConversations(name, () => make().conversations);
  describeLiveEvents(name, () => {
    const { live } = make();
    return { one: live, other: live };
  });
  describeDefinitionStore(name, () => make().definitions);
  describeControlStore(name, () => make().control);
}

describeLiveEvents('sqlite, two processes', () => {
  const data = dataFolder();
  const [one, other] = [stores({ data, shared: true }), stores({ data, shared: true })];
  return { one: one.live, other: other.live };
});
