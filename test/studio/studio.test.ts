import { defineStudioTests } from './flows/studio.ts';
import { describeStores } from './stores.ts';

describeStores('the Studio in a browser', defineStudioTests);
