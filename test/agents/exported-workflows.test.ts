import { describeExportedWorkflows } from './exported-workflows.ts';
import { describeOnStores } from './describe-on-stores.ts';

describeOnStores(describeExportedWorkflows);
