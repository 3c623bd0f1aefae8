import { accessibilityFlows } from './flows/accessibility.ts';
import { describeStores } from './stores.ts';

describeStores('the Studio for everybody', accessibilityFlows);
