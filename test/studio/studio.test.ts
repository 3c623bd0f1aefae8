import { studioFlows } from './flows/studio.ts';
import { describeStores } from './stores.ts';

describeStores('the Studio in a browser', studioFlows);
