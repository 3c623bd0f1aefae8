import { definePageTests } from './flows/pages.ts';
import { describeStores } from './stores.ts';

describeStores('a page of the Studio', definePageTests);
