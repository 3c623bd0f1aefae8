import { accessibilityFlows } from './flows/accessibility.ts';
import { describeStores } from './stores.ts';

describeStores('accessibility of the Studio', accessibilityFlows);
