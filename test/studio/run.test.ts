import { runFlows } from './flows/run.ts';
import { describeStores } from './stores.ts';

describeStores('the page of a run', runFlows);
