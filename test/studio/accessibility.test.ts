import { defineAccessibilityTests } from './flows/accessibility.ts';
import { describeStores } from './stores.ts';

describeStores('the Studio, checked for accessibility', defineAccessibilityTests);
