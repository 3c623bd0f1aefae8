import { defineAccessibilityTests } from './flows/accessibility.ts';
import { describeStores } from './stores.ts';

describeStores('accessibility of the Studio', defineAccessibilityTests);
