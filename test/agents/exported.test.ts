import { describeExportedWorkflows } from './exported.ts';
import { describeOnStores } from './on-stores.ts';

describeOnStores(describeExportedWorkflows);
