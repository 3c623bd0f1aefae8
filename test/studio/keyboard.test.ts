import { defineKeyboardTests } from './flows/keyboard.ts';
import { describeStores } from './stores.ts';

describeStores('the Studio with the keyboard only', defineKeyboardTests);
