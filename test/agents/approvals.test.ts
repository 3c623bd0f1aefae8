import { describeApprovals } from './approvals.ts';
import { describeOnStores } from './on-stores.ts';

describeOnStores(describeApprovals);
