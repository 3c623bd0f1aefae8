import { keyboardFlows } from './flows/keyboard.ts';
import { describeStores } from './stores.ts';

describeStores('the Studio without a mouse', keyboardFlows);
