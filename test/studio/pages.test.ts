import { definePageTests } from './flows/pages.ts';
import { describeStores } from './stores.ts';

describeStores('pages of the Studio', definePageTests);
